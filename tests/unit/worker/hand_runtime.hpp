#pragma once

#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include <sandbox/async/signal.hpp>
#include <sandbox/runtime/runtime.hpp>

namespace sandbox::sandboxd {

/// A runtime whose calls take as long as the test wants: each waits until the test ends it by hand, or until the rules
/// of the interface end it. It notes what it was asked.
class HandRuntime final : public runtime::Runtime {
public:
    using Id = domain::SandboxId;

    std::vector<Id> creating, destroyed;
    std::vector<std::pair<Id, domain::OperationId>> executing;
    std::vector<domain::OperationId> killed;
    std::vector<domain::InventoryItem> inventory;
    std::string phase = "starting";  // what a create says of itself
    bool ends_creates_on_destroy = true;
    bool holds_destroys = false;
    bool throws = false;
    std::optional<Error> refuses;  // creates and destroys

    void end_create(Id id) { end(created_, id); }
    void end_exec(domain::OperationId operation, std::int64_t exit_code = 0) {
        runtime::ExecResult result;
        result.output.exit_code = exit_code;
        exec_ends_.emplace(operation, std::move(result));
        changed_.notify_all();
    }
    void end_destroys() {
        holds_destroys = false;
        changed_.notify_all();
    }

    Task<Result<runtime::Capabilities>> probe(Deadline) override { co_return runtime::Capabilities{}; }
    Task<Result<runtime::HostStatus>> status(Deadline) override { co_return runtime::HostStatus{}; }
    Task<Result<std::vector<domain::InventoryItem>>> list(Deadline) override { co_return inventory; }

    Task<Result<void>> create(Id id, const domain::SandboxSpec&, domain::Tier, runtime::PhaseSink tell) override {
        if (throws) throw std::runtime_error("a fault of the runtime");
        if (refuses) co_return fail(*refuses);
        creating.push_back(id);
        tell(phase);
        while (!created_.contains(id) && !doomed_.contains(id)) co_await changed_.wait(Deadline::max());
        std::erase(creating, id);
        if (!created_.contains(id)) co_return fail(Code::cancelled, "create was cancelled");
        co_return Result<void>();
    }

    Task<Result<runtime::ExecResult>> exec(Id id, domain::OperationId operation, const domain::Command&,
                                           std::size_t) override {
        const auto call = std::pair(id, operation);
        executing.push_back(call);
        while (!exec_ends_.contains(operation)) co_await changed_.wait(Deadline::max());
        std::erase(executing, call);
        co_return exec_ends_.at(operation);
    }

    Task<Result<void>> cancel(Id, domain::OperationId operation) override {
        killed.push_back(operation);
        kill(operation);
        co_return Result<void>();
    }

    Task<Result<void>> destroy(Id id) override {
        destroyed.push_back(id);
        if (refuses) co_return fail(*refuses);
        if (ends_creates_on_destroy) end(doomed_, id);
        while (holds_destroys) co_await changed_.wait(Deadline::max());
        const auto calls = executing;
        for (const auto& [sandbox, operation] : calls)
            if (sandbox == id) kill(operation);
        co_return Result<void>();
    }

private:
    void end(std::set<Id>& ends, Id id) {
        ends.insert(id);
        changed_.notify_all();
    }
    void kill(domain::OperationId operation) {
        runtime::ExecResult result;
        result.output.exit_code = 137;
        result.output.signal = 9;
        exec_ends_.emplace(operation, std::move(result));
        changed_.notify_all();
    }

    std::set<Id> created_, doomed_;
    std::map<domain::OperationId, runtime::ExecResult> exec_ends_;
    async::Signal changed_;
};

}  // namespace sandbox::sandboxd
