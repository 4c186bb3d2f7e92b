#include <algorithm>
#include <utility>

#include <sandbox/base/text.hpp>

#include "memory/state.hpp"

namespace sandbox::store::memory {

using domain::AssignmentState;
using domain::OperationKind;
using domain::OperationState;

namespace {

constexpr std::size_t kMaxPhaseBytes = 64;
/// The feature of a node whose heartbeats list all that it has in hand, from its lease until its report is settled:
/// what they leave out never reached it.
constexpr std::string_view kListsInFlight = "in_flight";
/// A worker waits ten seconds for the answer to a heartbeat, and sends none meanwhile.
constexpr std::chrono::seconds kOldestHeartbeat{15};
/// An answer to a wait for work may be on its way for forty seconds, a heartbeat for ten after that.
constexpr std::chrono::seconds kOldestLease{60};

std::string first_phase(OperationKind kind) {
    return kind == OperationKind::create ? "creating" : "running";
}

}  // namespace

Leased State::lease(NodeRecord& node, std::size_t limit, Timestamp now) {
    Leased answer;
    answer.cancel.assign(node.cancels_untold.begin(), node.cancels_untold.end());
    node.cancels_untold.clear();

    const auto busy = [&](const OperationRecord& record) {
        return std::ranges::any_of(sandbox_of(record).open, [&](const domain::OperationId& id) {
            return operation_at(id).assignment.state == AssignmentState::leased;
        });
    };
    std::size_t input_bytes = 0;
    for (auto place = node.pending.begin();
         place != node.pending.end() && answer.assignments.size() < limit && input_bytes < kMaxLeaseInputBytes;) {
        auto& record = operation_at(std::get<domain::OperationId>(*place));
        ++place;  // taking the lease removes the entry
        if (is_older_worker(node) && busy(record)) continue;
        if (const auto* exec = std::get_if<domain::ExecWork>(&record.assignment.kind))
            input_bytes += exec->command.stdin_bytes ? exec->command.stdin_bytes->size() : 0;
        take_lease(node, record, now);
        answer.assignments.push_back(record.assignment);
    }
    return answer;
}

void State::take_lease(NodeRecord& node, OperationRecord& record, Timestamp now) {
    node.pending.erase(queue_key(record));
    ++record.assignment.attempt;
    renew(record, now + settings_.lease);
    auto& operation = record.operation;
    operation.state = OperationState::running;
    if (!operation.started_at) operation.started_at = now;
    operation.phase = first_phase(operation.kind);
    operation.updated_at = now;
    if (operation.kind == OperationKind::create) move(sandbox_of(record), domain::SandboxState::creating, now);
}

void State::renew(OperationRecord& record, Timestamp until) {
    forget_lease(record);
    auto& node = nodes_.at(record.assignment.node_id);
    record.assignment.state = AssignmentState::leased;
    record.assignment.lease_until = until;
    node.leased.insert(record.operation.id);
    // A command is never run twice by itself: an exec whose lease runs out stays with its worker.
    if (record.operation.kind != OperationKind::exec) leases_.emplace(until, record.operation.id);
}

void State::forget_lease(OperationRecord& record) {
    if (!record.assignment.lease_until) return;
    leases_.erase({*record.assignment.lease_until, record.operation.id});
    record.assignment.lease_until.reset();
    nodes_.at(record.assignment.node_id).leased.erase(record.operation.id);
}

void State::renew_in_flight(NodeRecord& node, const std::vector<domain::InFlight>& in_flight, Timestamp now) {
    for (const auto& item : in_flight) {
        const auto found = by_assignment_.find(item.assignment_id);
        if (found == by_assignment_.end()) continue;
        auto& record = operation_at(found->second);
        auto& assignment = record.assignment;
        if (assignment.node_id != node.node.id || assignment.attempt != item.attempt || item.attempt == 0 ||
            domain::has_ended(record.operation.state))
            continue;
        // Queued again, but the worker that had it last is still at it: it keeps it.
        node.pending.erase(queue_key(record));
        renew(record, now + settings_.lease);
        auto phase = shortened(item.phase, kMaxPhaseBytes);
        if (!phase.empty() && phase != record.operation.phase) {
            record.operation.phase = std::move(phase);
            record.operation.updated_at = now;
        }
    }
}

void State::renew_all(NodeRecord& node, Timestamp now) {
    for (const auto& id : std::vector(node.leased.begin(), node.leased.end())) {
        auto& record = operation_at(id);
        const bool expired = sandbox_of(record).sandbox.expires_at <= now;
        if (!expired || record.operation.kind == OperationKind::destroy) renew(record, now + settings_.lease);
    }
}

void State::release(const std::vector<domain::AssignmentId>& ids, Timestamp now) {
    for (const auto& id : ids) {
        const auto found = by_assignment_.find(id);
        if (found == by_assignment_.end()) continue;
        auto& record = operation_at(found->second);
        if (record.assignment.state == AssignmentState::leased) give_back(record, now);
    }
}

void State::give_back(OperationRecord& record, Timestamp now) {
    if (record.cancel_wanted) {
        end(record, ended_without_report(record, "cancelled"), now);
        return;
    }
    queue_again(record, now);
    if (domain::has_ended(record.operation.state)) return;
    record.operation.state = OperationState::pending;
    record.operation.started_at.reset();
}

void State::give_back_undelivered(NodeRecord& node, const std::vector<domain::InFlight>& in_flight, Timestamp now) {
    if (std::ranges::find(node.node.features, kListsInFlight) == node.node.features.end()) return;
    for (const auto& id : std::vector(node.leased.begin(), node.leased.end())) {
        auto& record = operation_at(id);
        const bool listed =
            std::ranges::find(in_flight, record.assignment.id, &domain::InFlight::assignment_id) != in_flight.end();
        if (record.operation.kind == OperationKind::exec && !listed &&
            *record.assignment.lease_until + kOldestHeartbeat <= now &&
            *record.operation.started_at + kOldestLease <= now)
            give_back(record, now);
    }
}

}  // namespace sandbox::store::memory
