#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <support/completion.hpp>
#include <support/run_task.hpp>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sandbox/base/random.hpp>
#include <sandbox/store/store.hpp>

/// The suite that every Store must pass. An implementation joins with an executable of its own: these sources and one
/// file that defines implementations(). No test knows which one it runs against.
namespace sandbox::store::contract {

using namespace std::chrono_literals;
using domain::OperationKind;
using domain::OperationState;
using domain::SandboxState;

/// What a store under test stands on: it opens the store and moves the time that the store goes by.
class Backend {
public:
    virtual ~Backend() = default;
    [[nodiscard]] virtual std::unique_ptr<Store> open(const Settings& settings) = 0;
    [[nodiscard]] virtual Timestamp now() const = 0;
    virtual void advance(std::chrono::microseconds by) = 0;
};

struct Implementation {
    std::string name;
    std::unique_ptr<Backend> (*create)(asio::io_context& io);

    friend void PrintTo(const Implementation& implementation, std::ostream* out) { *out << implementation.name; }
};

/// A call that goes on in the background; the test looks in on it or waits for its end.
template <class T>
struct Started {
    std::shared_ptr<std::optional<Result<T>>> result;

    [[nodiscard]] bool done() const { return result->has_value(); }
};

/// What this executable tests; defined by the file that knows the implementation.
[[nodiscard]] std::vector<Implementation> implementations();

/// A node as a test describes it; the rest is an idle host's.
struct NodeOptions {
    domain::Resources total{.cpu_millis = 100'000, .memory_mib = 100'000, .disk_mib = 1'000'000, .pids = 100'000};
    std::int64_t max_sandboxes = 0;
    std::map<std::string, std::string> labels{};
    std::vector<std::string> features{"stdin", "cancel", "inventory"};
    std::string name = "node";
};

using Rejections = std::map<std::string, std::int64_t>;

[[nodiscard]] domain::SandboxSpec small_sandbox();
[[nodiscard]] domain::Command command(std::vector<std::string> argv);
[[nodiscard]] Deadline at_once();

/// What a worker tells of an assignment.
using test::success_of;
[[nodiscard]] domain::Completion failure_of(const domain::Assignment& assignment, std::string error);
[[nodiscard]] domain::Completion exit_of(const domain::Assignment& assignment, std::int64_t exit_code,
                                         std::string stdout_text = "");

[[nodiscard]] domain::InFlight in_flight(const domain::Assignment& assignment, std::string phase = "running");
[[nodiscard]] domain::InventoryItem runs(const domain::SandboxId& id);
[[nodiscard]] domain::InventoryItem exited(const domain::SandboxId& id, std::int64_t exit_code);

/// The refusal's gate counts; nodes looked at under "nodes".
[[nodiscard]] Rejections rejections(const Error& error);

class StoreContract : public testing::TestWithParam<Implementation> {
protected:
    StoreContract();
    ~StoreContract() override;

    /// Opened at its first use, so that a test may change `settings` before.
    [[nodiscard]] Store& store();

    // --- calls: the answer, or a thrown error that fails the test
    template <class T>
    T value(Task<Result<T>> task) {
        auto result = test::run(io_, std::move(task));
        if (!result)
            throw std::runtime_error(std::string(to_text(result.error().code())) + ": " + result.error().message());
        if constexpr (!std::is_void_v<T>) return *std::move(result);
    }
    /// The error's code; nullopt when the call succeeded.
    template <class T>
    std::optional<Code> error(Task<Result<T>> task) {
        auto result = test::run(io_, std::move(task));
        return result ? std::nullopt : std::optional(result.error().code());
    }
    template <class T>
    Started<T> start(Task<Result<T>> task) {
        Started<T> started{std::make_shared<std::optional<Result<T>>>()};
        asio::co_spawn(io_, keep(std::move(task), started.result), [](const std::exception_ptr& failure) {
            if (failure) std::rethrow_exception(failure);
        });
        test::settle(io_);
        return started;
    }
    /// Its result, awaited for at most 10 s.
    template <class T>
    Result<T> end_of(const Started<T>& started) {
        io_.restart();
        for (const auto until = in(10s); !started.done() && std::chrono::steady_clock::now() < until;)
            io_.run_one_for(1s);
        if (!started.done()) return fail(Code::deadline_exceeded, "the call did not end");
        return *std::move(*started.result);
    }
    /// `count` calls at once.
    template <class Call>
    auto all(std::size_t count, Call call) {
        std::vector<decltype(start(call()))> started;
        for (std::size_t i = 0; i < count; ++i) started.push_back(start(call()));
        std::vector<decltype(end_of(started.front()))> results;
        for (auto& one : started) results.push_back(end_of(one));
        return results;
    }

    // --- time: by the store's clock
    [[nodiscard]] Timestamp now() const { return backend_->now(); }
    void advance(std::chrono::microseconds by) { backend_->advance(by); }
    /// Time passes with the controller at work: it sweeps, and these nodes send heartbeats.
    void live_through(std::chrono::seconds duration, const std::vector<domain::NodeId>& alive = {});
    Swept sweep() { return value(store().sweep(in(5s))); }

    // --- the worker's side
    [[nodiscard]] domain::Node describe(const NodeOptions& options);
    domain::NodeId register_node(const NodeOptions& options = {});
    /// The node's process starts anew.
    void restart(const domain::NodeId& node);
    /// A worker from before incarnations, features and inventories.
    domain::NodeId register_older_worker(const std::optional<domain::NodeId>& again = std::nullopt);
    /// A report by a node that uses just what the ledger says, and has nothing in flight.
    [[nodiscard]] domain::Heartbeat report_of(const domain::NodeId& node);
    HeartbeatAnswer beat(const domain::NodeId& node);
    HeartbeatAnswer beat(const domain::NodeId& node, std::vector<domain::InFlight> in_flight);
    HeartbeatAnswer beat_holding(const domain::NodeId& node, std::vector<domain::InventoryItem> inventory);
    std::vector<domain::Assignment> lease(const domain::NodeId& node, std::size_t limit = 100);
    domain::Assignment lease_one(const domain::NodeId& node);
    std::vector<domain::OperationId> told_to_cancel(const domain::NodeId& node);
    void complete(const domain::Completion& report) { value(store().complete(report, in(5s))); }

    // --- the operator's side
    Placed place(const domain::SandboxSpec& spec = small_sandbox());
    domain::SandboxId running_sandbox(const domain::SandboxSpec& spec = small_sandbox());
    domain::Operation exec(const domain::SandboxId& id) {
        return value(store().exec(id, command({"true"}), {}, in(5s)));
    }
    Deletion destroy(const domain::SandboxId& id) { return value(store().destroy(id, {}, in(5s))); }
    domain::Sandbox sandbox(const domain::SandboxId& id) { return value(store().sandbox(id, in(5s))); }
    domain::Operation operation(const domain::OperationId& id) { return value(store().operation(id, in(5s))); }
    SandboxState state(const domain::SandboxId& id) { return sandbox(id).state; }
    std::optional<std::string> why_failed(const domain::OperationId& id);
    domain::Capacity capacity(const domain::NodeId& id) { return value(store().node(id, in(5s))).capacity; }
    domain::Resources available(const domain::NodeId& id) { return capacity(id).available; }
    /// Takes everything out of the outbox: type and sandbox of each, oldest first; those of nodes are left out.
    std::vector<std::pair<std::string, domain::SandboxId>> events();
    std::vector<std::string> event_types();

    asio::io_context io_{1};
    Settings settings;
    SeededRandom random_{20261130};

private:
    template <class T>
    static Task<void> keep(Task<Result<T>> task, std::shared_ptr<std::optional<Result<T>>> result) {
        result->emplace(co_await std::move(task));
    }

    std::unique_ptr<Backend> backend_;
    std::unique_ptr<Store> store_;
};

}  // namespace sandbox::store::contract
