#include "postgres/publisher.hpp"

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

#include "postgres/answer.hpp"
#include "postgres/json.hpp"

namespace sandbox::store::postgres {

namespace {

/// How soon another controller takes over from one that is gone.
constexpr std::chrono::milliseconds kAskAgain{1000};

constexpr Statement kMayPublish{"may_publish", "select may_publish()"};
constexpr Statement kNext{"next_events", R"(
    select l.sequence, o.id, o.event_id, o.event_type, o.tenant, o.sandbox_id, o.node_id, o.happened_at, o.attributes
    from log_end l left join lateral (
        select * from outbox where id <> all ($1::bigint[]) order by id limit $2) o on true
    order by o.id)"};
constexpr Statement kPublish{"publish", "select publish($1::bigint[], $2)"};

/// Whether this connection is the publisher's, becoming it when nobody is.
Result<bool> may_publish(Connection& connection, std::uint64_t holder) {
    if (connection.number() == holder) return true;
    auto rows = connection.query(kMayPublish);
    if (!rows) return fail(std::move(rows.error()));
    return is_true(rows->at(0).at(0));
}

template <class Id>
Id id_or_nil(const Value& text) {
    return text ? Id::parse(*text).value_or(Id{}) : Id{};
}

std::string array_of(const std::vector<std::int64_t>& ids) {
    std::string text = "{";
    for (const auto id : ids) text += (text.size() > 1 ? "," : "") + std::to_string(id);
    return text + "}";
}

}  // namespace

domain::Event event_of(const Row& row, std::size_t at) {
    return {.event_id = id_or_nil<domain::EventId>(row.at(at)),
            .event_type = row.at(at + 1).value(),
            .tenant = row.at(at + 2).value(),
            .sandbox_id = id_or_nil<domain::SandboxId>(row.at(at + 3)),
            .node_id = id_or_nil<domain::NodeId>(row.at(at + 4)),
            .timestamp = time_of(row.at(at + 5)),
            .attributes = json_of(row.at(at + 6).value()).get<std::map<std::string, std::string>>()};
}

struct Publisher::Found {
    std::uint64_t holder = 0;  // 0: another controller publishes
    std::uint64_t log_end = 0;
    std::vector<Given> events;  // not yet numbered
};

Publisher::Publisher(asio::any_io_executor io, const Access& access)
    : pool_(std::make_shared<Pool>(std::move(io), access, 1)) {}

void Publisher::close() {
    closed_ = true;  // the pool says so to whoever asks
    pool_->close();
}

Result<Publisher::Found> Publisher::look(Connection& connection, std::uint64_t holder, const std::string& known,
                                         std::size_t limit) {
    auto mine = may_publish(connection, holder);
    if (!mine) return fail(std::move(mine.error()));
    Found found;
    if (!*mine) return found;
    // A statement of its own: what the former publisher has done is seen only by one that begins with the lock held.
    auto rows = connection.query(kNext, {known, std::to_string(limit)});
    if (!rows) return fail(std::move(rows.error()));
    found.holder = connection.number();
    found.log_end = static_cast<std::uint64_t>(integer_of(rows->at(0).at(0)));
    for (const auto& row : *rows) {
        if (!row.at(1)) continue;
        Given given{.id = integer_of(row.at(1)), .event = {}};
        given.event.event = event_of(row, 2);
        found.events.push_back(std::move(given));
    }
    return found;
}

Task<Result<std::vector<LoggedEvent>>> Publisher::next(std::size_t limit) {
    std::vector<LoggedEvent> events;
    if (!closed_ && std::chrono::steady_clock::now() < not_before_) co_return events;
    std::vector<std::int64_t> known;
    for (const auto& given : given_) known.push_back(given.id);
    auto job = [holder = holder_, ids = array_of(known), limit](Connection& connection) {
        return look(connection, holder, ids, limit);
    };
    auto found = co_await pool_->run(in(kAnswerWithin), std::move(job));
    if (!found) co_return fail(std::move(found.error()));
    take(std::move(*found));
    const auto count = std::min(limit, given_.size());
    for (std::size_t i = 0; i < count; ++i) events.push_back(given_[i].event);
    co_return events;
}

void Publisher::take(Found found) {
    holder_ = found.holder;
    if (found.holder == 0) {
        not_before_ = in(kAskAgain);
        given_.clear();
        return;
    }
    // Somebody else has published meanwhile: what we gave out has other numbers now, or is in the log already.
    if (!given_.empty() && given_.front().event.sequence != found.log_end + 1) given_.clear();
    auto last = given_.empty() ? found.log_end : given_.back().event.sequence;
    for (auto& one : found.events) {
        if (std::ranges::find(given_, one.id, &Given::id) != given_.end()) continue;
        one.event.sequence = ++last;
        given_.push_back(std::move(one));
    }
}

Task<Result<void>> Publisher::published(std::uint64_t last_sequence) {
    std::vector<std::int64_t> ids;
    for (const auto& given : given_)
        if (given.event.sequence <= last_sequence) ids.push_back(given.id);
    if (ids.empty()) co_return Result<void>();
    const auto first = given_.front().event.sequence;
    auto job = [holder = holder_, ids = array_of(ids), first](Connection& connection) -> Result<bool> {
        auto mine = may_publish(connection, holder);
        if (!mine || !*mine) return mine;
        auto rows = connection.query(kPublish, {ids, std::to_string(first)});
        if (!rows) return fail(std::move(rows.error()));
        return is_true(rows->at(0).at(0));
    };
    auto done = co_await pool_->run(in(kAnswerWithin), std::move(job));
    if (!done) co_return fail(std::move(done.error()));
    if (!*done) {
        given_.clear();
        co_return fail(Code::unavailable, "another controller has taken over publishing");
    }
    while (!given_.empty() && given_.front().event.sequence <= last_sequence) given_.pop_front();
    co_return Result<void>();
}

}  // namespace sandbox::store::postgres
