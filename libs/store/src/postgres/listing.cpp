// Reading: records, listings, numbers; and waiting for an operation's end.
#include <algorithm>
#include <limits>

#include "postgres/json.hpp"
#include "postgres/store.hpp"

namespace sandbox::store::postgres {

namespace {

constexpr Statement kPing{"ping", "select 1"};
constexpr Statement kNodes{"nodes",
                           "select node_json(n, l) from nodes n join ledgers l on l.node_id = n.id order by n.id"};
constexpr Statement kNode{"node",
                          "select node_json(n, l) from nodes n join ledgers l on l.node_id = n.id where n.id = $1"};
constexpr Statement kSandbox{"sandbox", "select sandbox_json(s) from sandboxes s where s.id = $1"};
constexpr Statement kOperation{"operation", "select operation_json(o) from operations o where o.id = $1"};
// One more than asked for tells whether there is more.
constexpr Statement kSandboxes{"sandboxes", R"(
    select sandbox_json(s) from sandboxes s
    where (s.created_at, s.id) < ($1::timestamptz, $2::uuid) and ($3::text[] is null or s.state = any ($3::text[]))
    order by s.created_at desc, s.id desc limit $4)"};
constexpr Statement kSandboxesOfTenant{"sandboxes_of_tenant", R"(
    select sandbox_json(s) from sandboxes s
    where (s.created_at, s.id) < ($1::timestamptz, $2::uuid) and ($3::text[] is null or s.state = any ($3::text[]))
        and s.tenant = $5
    order by s.created_at desc, s.id desc limit $4)"};
constexpr Statement kOperations{"operations", R"(
    select operation_json(o, false) from operations o
    where (o.created_at, o.id) < ($1::timestamptz, $2::uuid) and ($3::text[] is null or o.state = any ($3::text[]))
    order by o.created_at desc, o.id desc limit $4)"};
constexpr Statement kOperationsOfSandbox{"operations_of_sandbox", R"(
    select operation_json(o, false) from operations o
    where (o.created_at, o.id) < ($1::timestamptz, $2::uuid) and ($3::text[] is null or o.state = any ($3::text[]))
        and o.sandbox_id = $5
    order by o.created_at desc, o.id desc limit $4)"};
// Where only what has not ended is asked for: that is little, and its index finds it without walking past millions that
// have. (`offset 0` has it found first.)
constexpr Statement kLiveSandboxes{"live_sandboxes", R"(
    select sandbox_json(s) from (select * from sandboxes where ended_at is null offset 0) s
    where (s.created_at, s.id) < ($1::timestamptz, $2::uuid) and s.state = any ($3::text[])
        and ($5::text is null or s.tenant = $5)
    order by s.created_at desc, s.id desc limit $4)"};
constexpr Statement kOpenOperations{"open_operations", R"(
    select operation_json(o, false) from (select * from operations where ended_at is null offset 0) o
    where (o.created_at, o.id) < ($1::timestamptz, $2::uuid) and o.state = any ($3::text[])
        and ($5::uuid is null or o.sandbox_id = $5)
    order by o.created_at desc, o.id desc limit $4)"};
// What has ended is counted from indexes alone, and not each time: it may be millions.
constexpr Statement kEnded{"count_ended", R"(
    select 'sandbox', state, count(*) from sandboxes where ended_at is not null group by state
    union all select 'operation', state, count(*) from operations where ended_at is not null group by state)"};
constexpr std::chrono::seconds kCountEndedAgain{60};
/// While the database is away.
constexpr std::chrono::seconds kLookAgain{1};
constexpr Statement kStatistics{"statistics", R"(
    select 'sandbox', state, count(*) from sandboxes where ended_at is null group by state
    union all select 'operation', state, count(*) from operations where ended_at is null group by state
    union all select 'nodes', null, count(*) from ledgers
    union all select 'stale', null, count(*) from ledgers where stale
    union all select 'pending', null, count(*) from operations where ended_at is null and assignment_state = 'pending'
    union all select 'outbox', (select happened_at::text from outbox order by id limit 1), count(*) from outbox)"};

template <class T>
using Reader = T (*)(const nlohmann::json&, const std::string&, Problems&);

template <class T>
std::vector<T> records(const Rows& rows, Reader<T> read) {
    std::vector<T> all;
    all.reserve(rows.size());
    for (const auto& row : rows) all.push_back(record_of(row.at(0).value(), read));
    return all;
}

/// A record by its id. Errors: not_found.
template <class T>
auto find(const Statement& statement, std::string id, std::string missing, Reader<T> read) {
    return [&statement, id = std::move(id), missing = std::move(missing), read](Connection& connection) -> Result<T> {
        auto rows = connection.query(statement, {id});
        if (!rows) return fail(std::move(rows.error()));
        if (rows->empty()) return fail(Code::not_found, missing);
        return record_of(rows->at(0).at(0).value(), read);
    };
}

/// The parameters that all listings share: after which record, in which states, how many.
template <class Filter>
std::vector<Value> page_parameters(const Filter& filter) {
    std::vector<Value> parameters;
    parameters.emplace_back(filter.after ? format_time(filter.after->created_at) : "infinity");
    parameters.emplace_back(filter.after ? filter.after->id.text() : "ffffffff-ffff-ffff-ffff-ffffffffffff");
    if (filter.states.empty()) {
        parameters.emplace_back(std::nullopt);
    } else {
        std::vector<std::string> states;
        for (const auto state : filter.states) states.emplace_back(to_text(state));
        parameters.emplace_back(array_of_texts(states));
    }
    parameters.push_back(filter.limit ? Value(std::to_string(*filter.limit + 1)) : std::nullopt);
    return parameters;
}

template <class T>
auto list(const Statement& statement, std::vector<Value> parameters, std::optional<std::size_t> limit, Reader<T> read) {
    return [&statement, parameters = std::move(parameters), limit, read](Connection& connection) -> Result<Page<T>> {
        auto rows = connection.query(statement, parameters);
        if (!rows) return fail(std::move(rows.error()));
        const bool more = limit && rows->size() > *limit;
        if (more) rows->resize(*limit);
        Page<T> page{.items = records(*rows, read), .next = std::nullopt};
        if (more && !page.items.empty())
            page.next = Cursor{.created_at = page.items.back().created_at, .id = page.items.back().id.uuid};
        return page;
    };
}

template <class State, class Names>
void count(std::map<State, std::size_t>& counts, const Names& names, const Row& row, std::size_t number) {
    for (const auto& [name, state] : names)
        if (row.at(1) == name) counts[state] = number;
}

void add(Statistics& statistics, const Rows& rows) {
    for (const auto& row : rows) {
        const auto& what = row.at(0).value();
        const auto number = static_cast<std::size_t>(integer_of(row.at(2)));
        if (what == "sandbox") count(statistics.sandboxes, domain::kSandboxStateNames, row, number);
        if (what == "operation") count(statistics.operations, domain::kOperationStateNames, row, number);
        if (what == "nodes") statistics.nodes = number;
        if (what == "stale") statistics.stale_nodes = number;
        if (what == "pending") statistics.pending_assignments = number;
        if (what != "outbox") continue;
        statistics.outbox = number;
        if (row.at(1)) statistics.oldest_unpublished = time_of(row.at(1));
    }
}

}  // namespace

Task<Result<void>> PostgresStore::ping(Deadline deadline) {
    auto answer = co_await read(kPing, {}, deadline);
    if (!answer) co_return fail(std::move(answer.error()));
    co_return Result<void>();
}

Task<Result<std::vector<domain::Node>>> PostgresStore::nodes(Deadline deadline) {
    auto job = [](Connection& connection) -> Result<std::vector<domain::Node>> {
        auto rows = connection.query(kNodes);
        if (!rows) return fail(std::move(rows.error()));
        return records(*rows, domain::read_node);
    };
    co_return co_await pool_->read(deadline, std::move(job));
}

Task<Result<domain::Node>> PostgresStore::node(domain::NodeId id, Deadline deadline) {
    auto job = find(kNode, id.text(), "no node " + id.text() + " is registered", domain::read_node);
    co_return co_await pool_->read(deadline, std::move(job));
}

Task<Result<domain::Sandbox>> PostgresStore::sandbox(domain::SandboxId id, Deadline deadline) {
    auto job = find(kSandbox, id.text(), "there is no sandbox " + id.text(), domain::read_sandbox);
    co_return co_await pool_->read(deadline, std::move(job));
}

Task<Result<domain::Operation>> PostgresStore::operation(domain::OperationId id, Deadline deadline) {
    auto job = find(kOperation, id.text(), "there is no operation " + id.text(), domain::read_operation);
    co_return co_await pool_->read(deadline, std::move(job));
}

Task<Result<Page<domain::Sandbox>>> PostgresStore::sandboxes(SandboxFilter filter, Deadline deadline) {
    auto parameters = page_parameters(filter);
    const bool live = !filter.states.empty() && std::ranges::all_of(filter.states, domain::is_live);
    if (filter.tenant || live) parameters.emplace_back(filter.tenant);
    const auto& statement = live ? kLiveSandboxes : filter.tenant ? kSandboxesOfTenant : kSandboxes;
    auto job = list(statement, std::move(parameters), filter.limit, domain::read_sandbox);
    co_return co_await pool_->read(deadline, std::move(job));
}

Task<Result<Page<domain::Operation>>> PostgresStore::operations(OperationFilter filter, Deadline deadline) {
    auto parameters = page_parameters(filter);
    const bool open = !filter.states.empty() && std::ranges::none_of(filter.states, domain::has_ended);
    if (filter.sandbox_id || open)
        parameters.push_back(filter.sandbox_id ? Value(filter.sandbox_id->text()) : std::nullopt);
    const auto& statement = open ? kOpenOperations : filter.sandbox_id ? kOperationsOfSandbox : kOperations;
    auto job = list(statement, std::move(parameters), filter.limit, domain::read_operation);
    co_return co_await pool_->read(deadline, std::move(job));
}

Task<Result<domain::Operation>> PostgresStore::wait_operation(domain::OperationId id, Deadline deadline) {
    const auto topic = board_->operation(id);
    for (bool in_time = true;;) {
        const auto seen = topic->seen();
        auto now = co_await operation(id, in(kAnswerWithin));
        const bool away = !now && now.error().code() == Code::unavailable;
        if (!in_time || !board_->waits() || (!away && (!now || domain::has_ended(now->state)))) co_return now;
        in_time = co_await topic->wait(seen, away ? std::min(deadline, in(kLookAgain)) : deadline) ||
                  std::chrono::steady_clock::now() < deadline;
    }
}

Task<Result<Statistics>> PostgresStore::statistics(Deadline deadline) {
    const auto now = std::chrono::steady_clock::now();
    auto open = co_await pool_->read(deadline, [](Connection& connection) { return connection.query(kStatistics); });
    if (!open) co_return fail(std::move(open.error()));
    if (now >= count_ended_at_) {
        count_ended_at_ = now + kCountEndedAgain;
        // Where it takes too long, the former count stays.
        const auto ended =
            co_await pool_->read(deadline, [](Connection& connection) { return connection.query(kEnded); });
        if (ended) {
            ended_ = {};
            add(ended_, *ended);
        }
    }
    auto statistics = ended_;
    add(statistics, *open);
    co_return statistics;
}

}  // namespace sandbox::store::postgres
