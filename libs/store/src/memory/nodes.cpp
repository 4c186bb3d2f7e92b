#include <algorithm>
#include <utility>

#include "memory/state.hpp"

namespace sandbox::store::memory {

using domain::AssignmentState;
using domain::OperationKind;

namespace {

domain::Resources at_least_none(const domain::Resources& value) {
    return {.cpu_millis = std::max<std::int64_t>(value.cpu_millis, 0),
            .memory_mib = std::max<std::int64_t>(value.memory_mib, 0),
            .disk_mib = std::max<std::int64_t>(value.disk_mib, 0),
            .pids = std::max<std::int64_t>(value.pids, 0)};
}

}  // namespace

Registered State::register_node(domain::Node report, Timestamp now) {
    auto& record = nodes_[report.id];
    const bool restarted = !report.incarnation || report.incarnation != record.node.incarnation;
    record.node = std::move(report);
    record.node.last_seen = now;
    record.node.draining |= record.drained;
    take_capacity(record, domain::Capacity(record.node.capacity));
    fleet_.upsert(record.node);
    if (restarted) settle_restart(record, now);
    come_back(record, now);
    tell(record, "node.registered", now);
    return Registered{.node = record.node};
}

void State::settle_restart(NodeRecord& node, Timestamp now) {
    ++node.polls;  // what still waits for work was asked by a process that is gone
    for (const auto& id : std::vector(node.leased.begin(), node.leased.end())) {
        auto& record = operation_at(id);
        if (record.operation.kind != OperationKind::exec)
            queue_again(record, now);
        else
            end(record, ended_without_report(record, record.cancel_wanted ? "cancelled" : "interrupted"), now);
    }
}

Result<HeartbeatAnswer> State::heartbeat(domain::NodeId id, domain::Heartbeat report, Timestamp now) {
    const auto found = find(id);
    if (!found) return fail(found.error());
    auto& record = **found;
    record.node.last_seen = now;
    record.node.pressure = report.pressure;
    record.node.warm_images = std::move(report.warm_images);
    take_capacity(record, report.capacity);
    fleet_.upsert(record.node);
    come_back(record, now);

    if (report.in_flight) {
        renew_in_flight(record, *report.in_flight, now);
        give_back_undelivered(record, *report.in_flight, now);
    } else {
        renew_all(record, now);
    }
    HeartbeatAnswer answer;
    if (report.inventory) answer.remove = settle_inventory(record, *report.inventory, now);
    for (const auto& operation : record.leased)
        if (operation_at(operation).cancel_wanted) answer.cancel.push_back(operation);
    return answer;
}

/// The ledger decides; a report only tells what else the node is used for, beside the sandboxes in the ledger now.
void State::take_capacity(NodeRecord& node, const domain::Capacity& report) {
    auto& capacity = node.node.capacity;
    capacity.total = at_least_none(report.total);
    capacity.max_sandboxes = report.max_sandboxes;
    const auto in_use = capacity.total - domain::least(at_least_none(report.available), capacity.total);
    node.beyond = at_least_none(in_use - node.held);
    follow_ledger(node);
}

void State::come_back(NodeRecord& node, Timestamp now) {
    node.stale = false;
    node.lost = false;
    const auto abandoned = std::exchange(node.abandoned, {});
    if (!is_older_worker(node)) return;  // its inventory tells what it still holds
    for (const auto& id : abandoned) {
        const auto found = sandboxes_.find(id);
        if (found == sandboxes_.end() || domain::is_live(found->second.sandbox.state)) continue;
        const auto& deletion = enqueue(found->second, domain::DeleteWork{}, now);
        if (found->second.sandbox.state == domain::SandboxState::failed) found->second.deletion = deletion.operation.id;
    }
}

Result<domain::Node> State::drain(domain::NodeId id, bool draining, Timestamp now) {
    const auto found = find(id);
    if (!found) return fail(found.error());
    auto& record = **found;
    record.drained = draining;
    if (record.node.draining != draining) {
        record.node.draining = draining;
        fleet_.upsert(record.node);
        if (draining) tell(record, "node.draining", now);
    }
    return record.node;
}

}  // namespace sandbox::store::memory
