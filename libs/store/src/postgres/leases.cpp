// Giving work to workers, and taking their reports.
#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include <sandbox/async/shielded.hpp>
#include <sandbox/base/text.hpp>

#include "postgres/json.hpp"
#include "postgres/store.hpp"

namespace sandbox::store::postgres {

namespace {

/// Work that somebody has locked is free in a moment.
constexpr std::chrono::milliseconds kBlockedPause{5};
// A reason is a sentence; it goes into the operation, the sandbox and an event.
constexpr std::size_t kMaxErrorBytes = 4096;
constexpr std::int64_t kKilled = 137;

constexpr Statement kLease{"lease", R"(
    select poll, registration, is_current, blocked, assignments, cancel from lease($1, $2, $3, $4, $5, $6))"};
constexpr Statement kRelease{"release", "select code, message, body, notes from release($1)"};
constexpr Statement kComplete{
    "complete", "select code, message, body, notes from complete($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};

/// One wait for work: which one it is, and what the last question brought.
struct Poll {
    Value poll;
    Value registration;      // null: an unknown node
    bool is_current = true;  // no newer wait, and no newer process, of this node
    bool blocked = false;
    Leased leased;
};

Poll poll_of(const Row& row) {
    Poll poll{.poll = row.at(0),
              .registration = row.at(1),
              .is_current = is_true(row.at(2)),
              .blocked = is_true(row.at(3)),
              .leased = {}};
    if (row.at(4))
        for (const auto& assignment : json_of(*row.at(4)))
            poll.leased.assignments.push_back(record_of(assignment, domain::read_assignment));
    poll.leased.cancel = ids_in<domain::OperationId>(row.at(5));
    return poll;
}

/// Marks the node as being asked about, until it goes; then the next may ask.
class Asking {
public:
    explicit Asking(std::shared_ptr<Board::Node> node) : node_(std::move(node)) { node_->asking = true; }
    ~Asking() {
        node_->asking = false;
        node_->asked.changed();
    }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

private:
    std::shared_ptr<Board::Node> node_;
};

/// By the rule of all kinds but exec.
Value error_of(const domain::Completion& report) {
    if (report.success) return std::nullopt;
    return shortened(report.error.value_or("the worker gave no reason"), kMaxErrorBytes);
}

/// By the rule of commands: another status than 0 is a failure too. An older worker may leave out output or error.
Value exec_error_of(const domain::Completion& report) {
    constexpr std::int64_t kNoExitCode = 125;
    const auto exit_code = report.output ? report.output->exit_code : report.success ? 0 : kNoExitCode;
    if (report.success && exit_code == 0) return std::nullopt;
    if (report.error) return shortened(*report.error, kMaxErrorBytes);
    return "command exited with status " + std::to_string(exit_code);
}

const char* text_of(bool value) {
    return value ? "true" : "false";
}

std::vector<Value> parameters_of(const domain::Completion& report) {
    const bool killed = !report.output || report.output->exit_code == kKilled;
    const bool ended =
        report.sandbox_state == domain::SandboxState::failed || report.sandbox_state == domain::SandboxState::stopped;
    return {report.assignment_id.text(),
            report.operation_id.text(),
            report.sandbox_id.text(),
            report.attempt ? Value(std::to_string(*report.attempt)) : std::nullopt,
            error_of(report),
            exec_error_of(report),
            report.output ? Value(dump_json(*report.output)) : std::nullopt,
            text_of(killed),
            text_of(ended),
            report.startup ? Value(dump_json(*report.startup)) : std::nullopt};
}

}  // namespace

Task<Result<Leased>> PostgresStore::lease(domain::NodeId id, std::size_t limit, Deadline deadline) {
    const auto node = board_->node(id);
    // A worker that asks again has given up its former call, whose answer it would never see.
    const auto mine = ++node->polls;
    Poll last;
    for (bool in_time = true; in_time && board_->waits();) {
        while (node->asking) co_await node->asked.wait(node->asked.seen(), in(kAnswerWithin));
        const auto seen = node->work.seen();
        if (mine == node->polls && last.is_current) {
            const Asking asking(node);
            auto job = [parameters = std::vector<Value>{
                            id.text(), last.poll, last.registration, std::to_string(limit), interval(settings_.lease),
                            std::to_string(kMaxLeaseInputBytes)}](Connection& connection) -> Result<Poll> {
                auto rows = connection.query(kLease, parameters);
                if (!rows) return fail(std::move(rows.error()));
                return poll_of(rows->at(0));
            };
            // Whoever asks may leave at any moment: what the database has given meanwhile must not go with it.
            auto poll = co_await async::shielded(pool_->run(in(kAnswerWithin), std::move(job)));
            if (!poll) co_return fail(std::move(poll.error()));
            if (!poll->registration) co_return fail(Code::not_found, "no node " + id.text() + " is registered");
            last = std::move(*poll);
            const auto cancellation = co_await asio::this_coro::cancellation_state;
            const bool gone = cancellation.cancelled() != asio::cancellation_type::none;
            if (gone || (!last.leased.assignments.empty() && mine != node->polls)) {
                // It has left, or asked again: this call's answer reaches nobody.
                std::vector<domain::AssignmentId> ids;
                for (const auto& assignment : last.leased.assignments) ids.push_back(assignment.id);
                co_await asio::this_coro::throw_if_cancelled(false);
                auto released = co_await async::shielded(release(std::move(ids), in(kAnswerWithin)));
                co_await asio::this_coro::throw_if_cancelled(true);
                if (!released) co_return fail(std::move(released.error()));
                if (gone) co_return fail(Code::cancelled, "whoever asked for work has left");
                continue;
            }
            if (!last.leased.assignments.empty() || !last.leased.cancel.empty()) co_return std::move(last.leased);
        }
        if (last.blocked && in(kBlockedPause) < deadline)
            co_await node->work.wait(seen, in(kBlockedPause));
        else
            in_time = co_await node->work.wait(seen, deadline);
    }
    co_return Leased{};
}

Task<Result<void>> PostgresStore::release(std::vector<domain::AssignmentId> ids, Deadline deadline) {
    std::vector<Value> parameters{array_of_ids(ids)};
    auto answer = co_await call(kRelease, std::move(parameters), deadline);
    if (!answer) co_return fail(std::move(answer.error()));
    co_return Result<void>();
}

Task<Result<void>> PostgresStore::complete(domain::Completion report, Deadline deadline) {
    auto answer = co_await call(kComplete, parameters_of(report), deadline);
    if (!answer) co_return fail(std::move(answer.error()));
    co_return Result<void>();
}

}  // namespace sandbox::store::postgres
