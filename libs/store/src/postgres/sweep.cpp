// What time brings. All controllers sweep; the database sees to it that no two do the same.
#include <sandbox/base/log.hpp>

#include "postgres/store.hpp"

namespace sandbox::store::postgres {

namespace {

/// In one transaction: small, so that nobody waits long for what it locks.
constexpr int kBatch = 100;

constexpr Statement kSweepNodes{"sweep_nodes", "select lost, notes from sweep_nodes($1, $2)"};
constexpr Statement kLoseNode{"lose_node", "select name, last_seen, sandboxes, notes from lose_node($1, $2)"};
constexpr Statement kSweepExpired{"sweep_expired", "select expired, notes from sweep_expired($1, $2)"};
constexpr Statement kSweepLeases{"sweep_leases", "select released, notes from sweep_leases($1)"};
constexpr Statement kPrune{"prune", "select pruned, more from prune($1, $2, $3)"};

/// What is old can wait for the next sweep, what has expired can't.
constexpr std::chrono::milliseconds kPruneWithin{300};

/// Leaves time for one more statement.
bool is_over(Deadline deadline) {
    return std::chrono::steady_clock::now() + std::chrono::seconds(1) > deadline;
}

/// null where all is kept.
Value retention(std::chrono::hours hours) {
    return hours.count() == 0 ? Value() : Value(interval(hours));
}

}  // namespace

Task<Result<Swept>> PostgresStore::sweep(Deadline deadline) {
    Swept swept;
    Result<void> all;
    // What one step can't do is no reason to leave out the next.
    const auto note = [&all](Result<void> done) {
        if (!done && all) all = std::move(done);
    };
    std::vector<Value> expired{std::to_string(kBatch), interval(settings_.node_lost)};
    note(co_await sweep_in_batches(kSweepExpired, std::move(expired), swept.expired, deadline));
    std::vector<Value> leases{std::to_string(kBatch)};
    note(co_await sweep_in_batches(kSweepLeases, std::move(leases), swept.releases, deadline));
    note(co_await sweep_nodes(swept, deadline));
    note(co_await prune(swept, deadline));
    if (!all) co_return fail(std::move(all.error()));
    co_return swept;
}

Task<Result<void>> PostgresStore::sweep_nodes(Swept& swept, Deadline deadline) {
    const auto node_lost = interval(settings_.node_lost);
    std::vector<Value> parameters{interval(settings_.aegis.heartbeat_timeout), node_lost};
    auto rows = co_await read(kSweepNodes, std::move(parameters), deadline);
    if (!rows) co_return fail(std::move(rows.error()));
    for (const auto& id : ids_in<domain::NodeId>(rows->at(0).at(0))) {
        std::vector<Value> node{id.text(), node_lost};
        auto lost = co_await read(kLoseNode, std::move(node), deadline);
        if (!lost) co_return fail(std::move(lost.error()));
        const auto& row = lost->at(0);
        if (!row.at(0)) continue;
        watch_->changed(row.at(3).value_or(""));
        ++swept.lost_nodes;
        swept.lost_sandboxes += static_cast<std::size_t>(integer_of(row.at(2)));
        log::warn("node lost: no heartbeat", {{"node", id.text()},
                                              {"name", *row.at(0)},
                                              {"last_seen", row.at(1).value_or("")},
                                              {"sandboxes", row.at(2).value_or("")}});
    }
    board_->outbox.changed();
    co_return Result<void>();
}

/// Until a batch is not full or the time is up: the next sweep goes on.
Task<Result<void>> PostgresStore::sweep_in_batches(const Statement& statement, std::vector<Value> parameters,
                                                   std::size_t& count, Deadline deadline) {
    while (true) {
        auto batch_parameters = parameters;
        auto rows = co_await read(statement, std::move(batch_parameters), deadline);
        if (!rows) co_return fail(std::move(rows.error()));
        const auto batch = integer_of(rows->at(0).at(0));
        if (batch > 0) watch_->changed(rows->at(0).at(1).value_or(""));
        count += static_cast<std::size_t>(batch);
        if (batch < kBatch || is_over(deadline)) co_return Result<void>();
    }
}

Task<Result<void>> PostgresStore::prune(Swept& swept, Deadline deadline) {
    const auto until = in(kPruneWithin);
    for (bool more = true; more;) {
        std::vector<Value> parameters{std::to_string(kBatch), retention(settings_.retention),
                                      interval(settings_.output_retention)};
        auto rows = co_await read(kPrune, std::move(parameters), deadline);
        if (!rows) co_return fail(std::move(rows.error()));
        swept.pruned += static_cast<std::size_t>(integer_of(rows->at(0).at(0)));
        more = is_true(rows->at(0).at(1)) && std::chrono::steady_clock::now() < until && !is_over(deadline);
    }
    co_return Result<void>();
}

}  // namespace sandbox::store::postgres
