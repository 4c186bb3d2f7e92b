// The outbox and the log.
#include <algorithm>
#include <limits>

#include "postgres/store.hpp"

namespace sandbox::store::postgres {

namespace {

#define SANDBOX_EVENTS(condition)                                                                                 \
    "select l.sequence, e.sequence, e.event_id, e.event_type, e.tenant, e.sandbox_id, e.node_id, e.happened_at, " \
    "e.attributes from log_end l left join lateral (select * from events where sequence > $1 " condition          \
    " order by sequence limit $2) e on true order by e.sequence"
constexpr Statement kEvents{"events", SANDBOX_EVENTS("")};
constexpr Statement kEventsOfTenant{"events_of_tenant", SANDBOX_EVENTS("and tenant = $3")};
#undef SANDBOX_EVENTS

Result<EventPage> page_of(Connection& connection, const EventFilter& filter) {
    const auto after = std::min<std::uint64_t>(filter.after, std::numeric_limits<std::int64_t>::max());
    std::vector<Value> parameters{std::to_string(after), std::to_string(filter.limit)};
    if (filter.tenant) parameters.emplace_back(*filter.tenant);
    auto rows = connection.query(filter.tenant ? kEventsOfTenant : kEvents, parameters);
    if (!rows) return fail(std::move(rows.error()));
    EventPage page;
    for (const auto& row : *rows)
        if (row.at(1))
            page.events.push_back(
                {.sequence = static_cast<std::uint64_t>(integer_of(row.at(1))), .event = event_of(row, 2)});
    const auto log_end = static_cast<std::uint64_t>(integer_of(rows->at(0).at(0)));
    page.next = page.events.size() < filter.limit ? std::max(filter.after, log_end) : page.events.back().sequence;
    return page;
}

}  // namespace

Task<Result<std::vector<LoggedEvent>>> PostgresStore::unpublished(std::size_t limit, Deadline deadline) {
    for (bool in_time = true;;) {
        const auto seen = board_->outbox.seen();
        auto events = co_await publisher_.next(limit);
        if (!events || !events->empty() || !in_time) co_return events;
        in_time = co_await board_->outbox.wait(seen, deadline);
    }
}

Task<Result<void>> PostgresStore::published(std::uint64_t last_sequence, Deadline /*deadline*/) {
    auto done = co_await publisher_.published(last_sequence);
    if (done) watch_->changed("l ");
    co_return done;
}

Task<Result<EventPage>> PostgresStore::events(EventFilter filter, Deadline deadline) {
    for (bool in_time = true;;) {
        const auto seen = board_->log.seen();
        auto job = [filter](Connection& connection) { return page_of(connection, filter); };
        auto page = co_await pool_->read(in(kAnswerWithin), std::move(job));
        if (!page || !page->events.empty() || !in_time) co_return page;
        filter.after = page->next;  // what is there is somebody else's
        in_time = co_await board_->log.wait(seen, deadline);
    }
}

}  // namespace sandbox::store::postgres
