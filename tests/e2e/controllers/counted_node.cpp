#include "counted_node.hpp"

#include <future>
#include <set>
#include <stdexcept>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <sandbox/async/signal.hpp>

namespace sandbox::test {

using namespace std::chrono_literals;

void Runs::began(const std::string& operation) {
    const std::lock_guard lock(mutex_);
    ++begun_[operation];
    ++under_way_;
    beginnings_.try_emplace(operation, std::chrono::steady_clock::now());
}

void Runs::ended(const std::string&) {
    const std::lock_guard lock(mutex_);
    --under_way_;
}

void Runs::created(const std::string& sandbox) {
    const std::lock_guard lock(mutex_);
    ++creates_[sandbox];
}

int Runs::begun(const std::string& operation) const {
    const std::lock_guard lock(mutex_);
    const auto found = begun_.find(operation);
    return found == begun_.end() ? 0 : found->second;
}

int Runs::under_way() const {
    const std::lock_guard lock(mutex_);
    return under_way_;
}

int Runs::creates(const std::string& sandbox) const {
    const std::lock_guard lock(mutex_);
    const auto found = creates_.find(sandbox);
    return found == creates_.end() ? 0 : found->second;
}

Runs::Moment Runs::beginning(const std::string& operation) const {
    Moment moment;
    const bool begins = eventually(60s, [&] {
        const std::lock_guard lock(mutex_);
        const auto found = beginnings_.find(operation);
        if (found != beginnings_.end()) moment = found->second;
        return found != beginnings_.end();
    });
    if (!begins) throw std::runtime_error("the operation did not begin: " + operation);
    return moment;
}

std::size_t Runs::operations() const {
    const std::lock_guard lock(mutex_);
    return begun_.size();
}

namespace {

using namespace domain;

/// Sandboxes are entries in a table and commands are waits. Lives on its node's thread.
class CountingRuntime final : public runtime::Runtime {
public:
    explicit CountingRuntime(Runs& runs) : runs_(runs) {}

    Task<Result<runtime::Capabilities>> probe(Deadline) override {
        runtime::Capabilities capabilities;
        capabilities.info = {.name = "counting", .version = "1"};
        capabilities.tiers = {Tier::container};
        capabilities.features = {"stdin", "cancel", "inventory"};
        capabilities.concurrent_exec = true;
        co_return capabilities;
    }
    Task<Result<runtime::HostStatus>> status(Deadline) override { co_return runtime::HostStatus{}; }

    Task<Result<void>> create(SandboxId id, const SandboxSpec& spec, Tier, runtime::PhaseSink) override {
        runs_.created(id.text());
        if (spec.image.starts_with("missing/")) co_return fail(Code::not_found, "no such image: " + spec.image);
        sandboxes_[id] = spec.resources;
        co_return Result<void>();
    }

    Task<Result<runtime::ExecResult>> exec(SandboxId id, OperationId operation, const Command& command,
                                           std::size_t) override {
        if (!sandboxes_.contains(id)) co_return fail(Code::not_found, "there is no such sandbox here");
        const auto until = in(std::chrono::milliseconds(std::stoi(command.argv.at(1))));
        const auto run = std::make_shared<Run>(id);
        running_[operation] = run;
        runs_.began(operation.text());
        while (!run->killed && co_await run->changed.wait(until)) continue;
        runs_.ended(operation.text());
        running_.erase(operation);
        runtime::ExecResult result;
        if (run->killed) {
            result.output.exit_code = 137;
            result.error = "cancelled";
        }
        co_return result;
    }

    Task<Result<void>> cancel(SandboxId, OperationId operation) override {
        if (const auto found = running_.find(operation); found != running_.end()) kill(*found->second);
        co_return Result<void>();
    }

    Task<Result<void>> destroy(SandboxId id) override {
        for (const auto& [operation, run] : running_)
            if (run->sandbox == id) kill(*run);
        sandboxes_.erase(id);
        co_return Result<void>();
    }

    Task<Result<std::vector<InventoryItem>>> list(Deadline) override {
        std::vector<InventoryItem> items;
        for (const auto& [id, resources] : sandboxes_) {
            InventoryItem item;
            item.sandbox_id = id;
            item.resources = resources;
            items.push_back(item);
        }
        co_return items;
    }

private:
    struct Run {
        explicit Run(SandboxId id) : sandbox(id) {}
        SandboxId sandbox;
        bool killed = false;
        async::Signal changed;
    };
    static void kill(Run& run) {
        run.killed = true;
        run.changed.notify_all();
    }

    Runs& runs_;
    std::map<SandboxId, Resources> sandboxes_;
    std::map<OperationId, std::shared_ptr<Run>> running_;
};

}  // namespace

CountedNode::CountedNode(const std::string& controller, Runs& runs, Options options)
    : id_(NodeId::make(clock_.now(), random_)), runtime_(std::make_unique<CountingRuntime>(runs)) {
    client_ = std::make_unique<client::WorkerClient>(
        io_.get_executor(),
        client::Settings{
            .server = http::Url::parse("http://" + controller).value(), .token = Secret(), .ca_file = std::nullopt});
    sandboxd::WorkerSettings settings;
    settings.node_id = id_;
    settings.name = "counted";
    settings.labels = std::move(options.labels);
    settings.region = "local";
    settings.zone = "local-a";
    // The disk is bounded by what is free on this machine.
    settings.resources = {.cpu_millis = 1'000'000, .memory_mib = 1'000'000, .disk_mib = 4096, .pids = 1'000'000};
    settings.max_sandboxes = options.max_sandboxes;
    settings.state_dir = directory_.path();
    worker_ = std::make_unique<sandboxd::Worker>(io_.get_executor(), settings, *runtime_, *client_, clock_, random_);
    thread_ = std::thread([this] { io_.run(); });
    auto start = [](sandboxd::Worker& worker) -> Task<void> {
        worker.start();
        async::Signal nothing;
        for (const auto until = in(60s); !worker.registered();) {
            if (std::chrono::steady_clock::now() > until) throw std::runtime_error("the node did not register");
            co_await nothing.wait(in(10ms));
        }
    };
    try {
        run_on_thread(start(*worker_));
    } catch (...) {
        end_thread();
        throw;
    }
}

CountedNode::~CountedNode() {
    auto stop = [](CountedNode& node) -> Task<void> {
        co_await node.worker_->stop(in(2s));
        node.worker_.reset();
        node.client_.reset();
    };
    try {
        run_on_thread(stop(*this));
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "the node did not stop: %s\n", problem.what());
    }
    end_thread();
}

void CountedNode::end_thread() {
    work_.reset();
    io_.stop();
    thread_.join();
}

void CountedNode::run_on_thread(Task<void> task) {
    asio::co_spawn(io_, std::move(task), asio::use_future).get();
}

}  // namespace sandbox::test
