#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/runtime/external.hpp>
#include <sandbox/runtime/runtime.hpp>

namespace sandbox::driver_check {

/// What a check found wrong: a sentence for whoever writes the driver. Caught where the check was begun.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// Why a check says nothing of this runtime.
struct NotOffered : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Why a check could not be made just now; another time it can.
struct NotJudged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The check does not go on, since the kit was told to end.
struct Interrupted : std::exception {};

/// Throws what is wrong unless the condition holds.
inline void expect(bool holds, const std::string& wrong) {
    if (!holds) throw Broken(wrong);
}
/// Throws the error of a call that failed.
template <class T>
void expect(const Result<T>& result) {
    if (!result) throw Broken(result.error().message());
}

using Clock = std::chrono::steady_clock;
[[nodiscard]] inline std::chrono::milliseconds since(Clock::time_point begun) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
}

/// What a check works with: one runtime, and sandboxes on it that go when the check has ended. Io thread.
class Kit {
public:
    struct Settings {
        std::string image;         // with a shell and the usual small tools
        bool limits_disks = true;  // whether disk_mib is to hold
        /// The runtime once more, when it is a driver's.
        runtime::DriverRuntime* driver = nullptr;
        /// Nobody else has sandboxes where this runtime's are.
        bool is_alone = false;
        /// Sends SIGKILL to the driver's run for this action; false when none was found. Empty for a runtime without
        /// drivers.
        std::function<bool(std::string_view action)> kill_driver;
    };
    Kit(asio::any_io_executor executor, runtime::Runtime& runtime, runtime::Capabilities capabilities,
        Settings settings);

    [[nodiscard]] runtime::Runtime& runtime() noexcept { return runtime_; }
    [[nodiscard]] const runtime::Capabilities& capabilities() const noexcept { return capabilities_; }
    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    [[nodiscard]] bool has(std::string_view feature) const;

    [[nodiscard]] domain::SandboxId new_id();
    [[nodiscard]] domain::OperationId new_operation();
    /// A small sandbox without network.
    [[nodiscard]] domain::SandboxSpec spec() const;
    [[nodiscard]] domain::Tier tier() const { return capabilities_.tiers.front(); }

    /// The create itself; remove_all() removes it, whatever became of it.
    Task<Result<void>> try_create(domain::SandboxId id, domain::SandboxSpec spec);
    /// A sandbox that is ready, or Broken.
    Task<domain::SandboxId> create(domain::SandboxSpec spec);
    Task<domain::SandboxId> create() { return create(spec()); }
    Task<Result<runtime::ExecResult>> try_exec(domain::SandboxId id, domain::Command command) {
        return try_exec_as(new_operation(), id, std::move(command));
    }
    Task<Result<runtime::ExecResult>> try_exec_as(domain::OperationId operation, domain::SandboxId id,
                                                  domain::Command command);
    /// The command's result, or Broken when the runtime could not tell one.
    Task<runtime::ExecResult> exec(domain::SandboxId id, domain::Command command);
    Task<runtime::ExecResult> sh(domain::SandboxId id, std::string script);
    Task<void> remove(domain::SandboxId id);
    /// How many processes of the sandbox have a command line that begins with this one.
    Task<int> count(domain::SandboxId id, std::string command_line);
    /// Whether it takes commands.
    Task<bool> works(domain::SandboxId id);
    /// What list() names; NotOffered when the runtime has no inventory.
    Task<std::vector<domain::SandboxId>> listed();
    /// Whether list() names it; false when the runtime has no inventory.
    Task<bool> lists(domain::SandboxId id);
    Task<void> remove_all();
    /// Throws Interrupted when the kit was told to end.
    Task<void> pause(std::chrono::milliseconds duration) const;

    /// The next check: what an earlier one left is not this one's fault.
    void begin_check() noexcept { ++check_number_; }
    /// A text that every process of this check's sandboxes has in its environment (kWordVariable), and nobody else.
    [[nodiscard]] std::string word() const;
    /// The same of all checks: a part of every word().
    [[nodiscard]] const std::string& word_of_all() const noexcept { return word_of_all_; }
    /// That no process of this check's sandboxes is on this host any more; those that are end now. Processes that
    /// can't be seen from here (of a machine with a kernel of its own, say) do not count.
    Task<void> expect_nothing_runs() const;
    static constexpr const char* kWordVariable = "DRIVER_CHECK_WORD";
    /// For what was killed to be gone.
    static constexpr std::chrono::seconds kGoneTime{5};

    /// Checks end soon, and delete nothing any more.
    void interrupt() noexcept { interrupted_ = true; }
    /// Sandboxes that may still be there.
    [[nodiscard]] std::vector<domain::SandboxId> not_deleted() const;

    /// A number that no other process sleeps for.
    [[nodiscard]] std::string odd_number();

    static constexpr std::size_t kOutputLimit = 1024 * 1024;

private:
    asio::any_io_executor executor_;
    runtime::Runtime& runtime_;
    runtime::Capabilities capabilities_;
    Settings settings_;
    SystemRandom random_;
    std::vector<domain::SandboxId> made_;         // by this check
    std::vector<domain::SandboxId> not_deleted_;  // by those before
    std::string word_of_all_;
    int check_number_ = 0;
    bool interrupted_ = false;
};

[[nodiscard]] domain::Command command(std::vector<std::string> argv, std::int64_t timeout_seconds = 60);
[[nodiscard]] domain::Command shell(std::string script, std::int64_t timeout_seconds = 60);
/// "exit status 3, output …", for a message.
[[nodiscard]] std::string describe(const runtime::ExecResult& result);

/// Awaits them all side by side. The first exception comes when all have ended.
template <class T>
Task<std::vector<T>> all(std::vector<Task<T>> tasks) {
    struct State {
        std::vector<T> results;
        std::size_t left = 0;
        std::exception_ptr failure;
        async::Signal ended;
    };
    const auto executor = co_await asio::this_coro::executor;
    const auto state = std::make_shared<State>();
    state->results.resize(tasks.size());
    state->left = tasks.size();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        auto keep = [state, i](const std::exception_ptr& failure, T result) {
            if (failure && !state->failure) state->failure = failure;
            state->results[i] = std::move(result);
            --state->left;
            state->ended.notify_all();
        };
        asio::co_spawn(executor, std::move(tasks[i]), std::move(keep));
    }
    while (state->left > 0) co_await state->ended.wait(Deadline::max());
    if (state->failure) std::rethrow_exception(state->failure);
    co_return std::move(state->results);
}

/// One that goes on beside the check: `result` comes when it has ended.
template <class T>
struct Begun {
    std::shared_ptr<std::optional<T>> result = std::make_shared<std::optional<T>>();
    std::shared_ptr<async::Signal> ended = std::make_shared<async::Signal>();
    /// False when it has not ended in time.
    Task<bool> wait(Deadline deadline) const {
        while (!result->has_value())
            if (!co_await ended->wait(deadline)) co_return result->has_value();
        co_return true;
    }
};
template <class T>
Task<Begun<T>> begin(Task<T> task) {
    Begun<T> begun;
    auto keep = [begun](const std::exception_ptr&, T result) {
        begun.result->emplace(std::move(result));
        begun.ended->notify_all();
    };
    asio::co_spawn(co_await asio::this_coro::executor, std::move(task), std::move(keep));
    co_return begun;
}

}  // namespace sandbox::driver_check
