#include <chrono>
#include <utility>

#include <sandbox/store/memory_store.hpp>

#include "memory/idempotency.hpp"
#include "memory/state.hpp"

namespace sandbox::store {

namespace {

/// Gives the state's steps to coroutines: replays answers, and waits for what is not there yet. Nothing in it waits
/// between reading and writing, so each member is one transaction.
class MemoryStore final : public Store {
public:
    MemoryStore(Settings settings, async::Clock& clock, Random& random)
        : clock_(clock), state_(settings, random, clock.now()), answers_(settings.max_idempotency_keys) {}

    [[nodiscard]] std::string_view kind() const noexcept override { return "memory"; }
    void stop_waiting() override {
        waits_ = false;
        state_.wake_waiters();
    }
    Task<Result<void>> ping(Deadline) override { co_return Result<void>(); }

    Task<Result<Registered>> register_node(domain::Node node, Deadline) override {
        co_return state_.register_node(std::move(node), clock_.now());
    }
    Task<Result<HeartbeatAnswer>> heartbeat(domain::NodeId node, domain::Heartbeat report, Deadline) override {
        co_return state_.heartbeat(node, std::move(report), clock_.now());
    }
    Task<Result<std::vector<domain::Node>>> nodes(Deadline) override { co_return state_.nodes(); }
    Task<Result<domain::Node>> node(domain::NodeId id, Deadline) override {
        const auto found = state_.find(id);
        if (!found) co_return fail(found.error());
        co_return (*found)->node;
    }
    Task<Result<domain::Node>> drain(domain::NodeId id, bool draining, MaybeIdempotency once, Deadline) override {
        const auto now = clock_.now();
        co_return answers_.once<domain::Node>(once, now, [&] { return state_.drain(id, draining, now); });
    }

    Task<Result<Placed>> place(domain::SandboxSpec spec, MaybeIdempotency once, Deadline) override {
        const auto now = clock_.now();
        co_return answers_.once<Placed>(once, now, [&] { return state_.place(std::move(spec), now); });
    }
    Task<Result<Page<domain::Sandbox>>> sandboxes(SandboxFilter filter, Deadline) override {
        co_return state_.sandboxes(filter);
    }
    Task<Result<domain::Sandbox>> sandbox(domain::SandboxId id, Deadline) override {
        const auto found = state_.find(id);
        if (!found) co_return fail(found.error());
        co_return (*found)->sandbox;
    }
    Task<Result<domain::Sandbox>> extend(domain::SandboxId id, std::int64_t ttl_seconds, MaybeIdempotency once,
                                         Deadline) override {
        const auto now = clock_.now();
        co_return answers_.once<domain::Sandbox>(once, now, [&] { return state_.extend(id, ttl_seconds, now); });
    }
    Task<Result<Deletion>> destroy(domain::SandboxId id, MaybeIdempotency once, Deadline) override {
        const auto now = clock_.now();
        co_return answers_.once<Deletion>(once, now, [&] { return state_.destroy(id, now); });
    }

    Task<Result<domain::Operation>> exec(domain::SandboxId id, domain::Command command, MaybeIdempotency once,
                                         Deadline) override {
        const auto now = clock_.now();
        co_return answers_.once<domain::Operation>(once, now, [&] { return state_.exec(id, std::move(command), now); });
    }
    Task<Result<domain::Operation>> cancel(domain::OperationId id, MaybeIdempotency once, Deadline) override {
        const auto now = clock_.now();
        co_return answers_.once<domain::Operation>(once, now, [&] { return state_.cancel(id, now); });
    }
    Task<Result<domain::Operation>> operation(domain::OperationId id, Deadline) override {
        const auto found = state_.find(id);
        if (!found) co_return fail(found.error());
        co_return (*found)->operation;
    }
    Task<Result<Page<domain::Operation>>> operations(OperationFilter filter, Deadline) override {
        co_return state_.operations(filter);
    }
    Task<Result<domain::Operation>> wait_operation(domain::OperationId id, Deadline deadline) override {
        for (bool in_time = true;;) {
            const auto found = state_.find(id);
            if (!found) co_return fail(found.error());
            auto& record = **found;
            if (!in_time || !waits_ || domain::has_ended(record.operation.state)) co_return record.operation;
            if (!record.ended) record.ended = std::make_shared<async::Signal>();
            const auto ended = record.ended;  // the record may go while we wait
            in_time = co_await ended->wait(deadline);
        }
    }

    Task<Result<Leased>> lease(domain::NodeId id, std::size_t limit, Deadline deadline) override {
        const auto found = state_.find(id);
        if (!found) co_return fail(found.error());
        auto& node = **found;  // nodes stay
        // A worker that asks again has given up its former call, whose answer it would never see.
        const auto poll = ++node.polls;
        for (bool in_time = true; in_time && waits_;) {
            if (poll == node.polls) {
                auto leased = state_.lease(node, limit, clock_.now());
                if (!leased.assignments.empty() || !leased.cancel.empty()) co_return leased;
            }
            in_time = co_await node.work.wait(deadline);
        }
        co_return Leased{};
    }
    Task<Result<void>> release(std::vector<domain::AssignmentId> ids, Deadline) override {
        state_.release(ids, clock_.now());
        co_return Result<void>();
    }
    Task<Result<void>> complete(domain::Completion report, Deadline) override {
        co_return state_.complete(std::move(report), clock_.now());
    }

    Task<Result<Swept>> sweep(Deadline) override { co_return state_.sweep(clock_.now()); }
    Task<Result<std::vector<LoggedEvent>>> unpublished(std::size_t limit, Deadline deadline) override {
        for (bool in_time = true;;) {
            auto events = state_.unpublished(limit);
            if (!events.empty() || !in_time) co_return events;
            in_time = co_await state_.outbox_grew.wait(deadline);
        }
    }
    Task<Result<void>> published(std::uint64_t last_sequence, Deadline) override {
        state_.published(last_sequence);
        co_return Result<void>();
    }
    Task<Result<EventPage>> events(EventFilter filter, Deadline deadline) override {
        for (bool in_time = true;;) {
            auto page = state_.events(filter);
            if (!page.events.empty() || !in_time) co_return page;
            filter.after = page.next;  // what is there is somebody else's
            in_time = co_await state_.log_grew.wait(deadline);
        }
    }
    Task<Result<Statistics>> statistics(Deadline) override { co_return state_.statistics(); }

private:
    async::Clock& clock_;
    memory::State state_;
    memory::Answers answers_;
    bool waits_ = true;  // until stop_waiting()
};

}  // namespace

std::unique_ptr<Store> create_memory_store(Settings settings, async::Clock& clock, Random& random) {
    return std::make_unique<MemoryStore>(std::move(settings), clock, random);
}

}  // namespace sandbox::store
