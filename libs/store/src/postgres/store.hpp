#pragma once

#include <memory>
#include <utility>

#include <sandbox/base/random.hpp>
#include <sandbox/store/store.hpp>

#include "postgres/answer.hpp"
#include "postgres/board.hpp"
#include "postgres/fleet_cache.hpp"
#include "postgres/placements.hpp"
#include "postgres/pool.hpp"
#include "postgres/publisher.hpp"
#include "postgres/watch.hpp"

namespace sandbox::store::postgres {

/// The store in PostgreSQL. A verb is one function in the database (libs/store/migrations), called on a pool thread;
/// here is what surrounds it: choosing a node, waiting, and telling others. Coroutines run on the io thread.
class PostgresStore final : public Store {
public:
    PostgresStore(asio::any_io_executor io, Access access, std::size_t max_connections, Settings settings,
                  Random& random);
    ~PostgresStore() override;

    [[nodiscard]] std::string_view kind() const noexcept override { return "postgres"; }
    void close() override;
    void stop_waiting() override { board_->stop_waiting(); }

    // listing.cpp
    Task<Result<void>> ping(Deadline deadline) override;
    Task<Result<std::vector<domain::Node>>> nodes(Deadline deadline) override;
    Task<Result<domain::Node>> node(domain::NodeId id, Deadline deadline) override;
    Task<Result<Page<domain::Sandbox>>> sandboxes(SandboxFilter filter, Deadline deadline) override;
    Task<Result<domain::Sandbox>> sandbox(domain::SandboxId id, Deadline deadline) override;
    Task<Result<domain::Operation>> operation(domain::OperationId id, Deadline deadline) override;
    Task<Result<Page<domain::Operation>>> operations(OperationFilter filter, Deadline deadline) override;
    Task<Result<domain::Operation>> wait_operation(domain::OperationId id, Deadline deadline) override;
    Task<Result<Statistics>> statistics(Deadline deadline) override;

    // placement.cpp
    Task<Result<Placed>> place(domain::SandboxSpec spec, MaybeIdempotency once, Deadline deadline) override;

    // operations.cpp
    Task<Result<domain::Sandbox>> extend(domain::SandboxId id, std::int64_t ttl_seconds, MaybeIdempotency once,
                                         Deadline deadline) override;
    Task<Result<Deletion>> destroy(domain::SandboxId id, MaybeIdempotency once, Deadline deadline) override;
    Task<Result<domain::Operation>> exec(domain::SandboxId id, domain::Command command, MaybeIdempotency once,
                                         Deadline deadline) override;
    Task<Result<domain::Operation>> cancel(domain::OperationId id, MaybeIdempotency once, Deadline deadline) override;

    // nodes.cpp
    Task<Result<Registered>> register_node(domain::Node node, Deadline deadline) override;
    Task<Result<HeartbeatAnswer>> heartbeat(domain::NodeId node, domain::Heartbeat report, Deadline deadline) override;
    Task<Result<domain::Node>> drain(domain::NodeId id, bool draining, MaybeIdempotency once,
                                     Deadline deadline) override;

    // leases.cpp
    Task<Result<Leased>> lease(domain::NodeId node, std::size_t limit, Deadline deadline) override;
    Task<Result<void>> release(std::vector<domain::AssignmentId> ids, Deadline deadline) override;
    Task<Result<void>> complete(domain::Completion report, Deadline deadline) override;

    // sweep.cpp
    Task<Result<Swept>> sweep(Deadline deadline) override;

    // events.cpp
    Task<Result<std::vector<LoggedEvent>>> unpublished(std::size_t limit, Deadline deadline) override;
    Task<Result<void>> published(std::uint64_t last_sequence, Deadline deadline) override;
    Task<Result<EventPage>> events(EventFilter filter, Deadline deadline) override;

private:
    /// Calls a verb's function, and tells others what it has changed. Errors: those of the answer; unavailable.
    Task<Result<Answer>> call(const Statement& statement, std::vector<Value> parameters, Deadline deadline);
    Task<Result<Rows>> read(const Statement& statement, std::vector<Value> parameters, Deadline deadline);
    /// The same for a verb whose answer has a body, which `parse` (T(const std::string&)) reads on the pool's thread.
    template <class T>
    Task<Result<T>> call_for(const Statement& statement, std::vector<Value> parameters, T (*parse)(const std::string&),
                             Deadline deadline) {
        auto job = [&statement, parameters = std::move(parameters),
                    parse](Connection& connection) -> Result<std::pair<std::string, T>> {
            auto answer = ask(connection, statement, parameters);
            if (!answer) return fail(std::move(answer.error()));
            if (!answer->ok()) return fail(answer->error());
            return std::pair(std::move(answer->notes), parse(answer->body));
        };
        auto answer = co_await pool_->run(deadline, std::move(job));
        if (!answer) co_return fail(std::move(answer.error()));
        watch_->changed(answer->first);
        co_return std::move(answer->second);
    }

    Task<Result<Placed>> refuse(aegis::Refusal refusal, MaybeIdempotency once, Deadline deadline);
    Task<Result<void>> sweep_nodes(Swept& swept, Deadline deadline);
    Task<Result<void>> sweep_in_batches(const Statement& statement, std::vector<Value> parameters, std::size_t& count,
                                        Deadline deadline);
    Task<Result<void>> prune(Swept& swept, Deadline deadline);

    Settings settings_;
    std::shared_ptr<Pool> pool_;
    std::shared_ptr<Board> board_;
    std::shared_ptr<FleetCache> fleet_;
    std::shared_ptr<Placements> placements_;
    std::shared_ptr<Watch> watch_;
    Publisher publisher_;
    Statistics ended_;         // records that have ended, as counted last
    Deadline count_ended_at_;  // again
};

}  // namespace sandbox::store::postgres
