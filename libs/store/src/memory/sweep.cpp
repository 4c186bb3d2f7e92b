#include <algorithm>
#include <utility>

#include <sandbox/base/log.hpp>

#include "memory/state.hpp"

namespace sandbox::store::memory {

using domain::SandboxState;

Swept State::sweep(Timestamp now) {
    Swept swept;
    // Nobody swept for long: this process was stopped or the machine asleep. Its nodes get their time again.
    if (now - last_sweep_ > settings_.node_lost / 2) counting_from_ = now;
    if (now - last_sweep_ > settings_.aegis.heartbeat_timeout / 2) listening_from_ = now;
    last_sweep_ = now;

    for (auto& [id, node] : nodes_) {
        if (!node.stale && now - std::max(node.node.last_seen, listening_from_) > settings_.aegis.heartbeat_timeout) {
            node.stale = true;
            tell(node, "node.stale", now);
        }
        if (!node.lost && is_lost(node, now)) lose(node, now, swept);
    }
    while (!expiries_.empty() && expiries_.begin()->first <= now) {
        auto& sandbox = sandboxes_.at(expiries_.begin()->second);
        expiries_.erase(expiries_.begin());
        const bool under_way = sandbox.deletion && sandbox.open.contains(*sandbox.deletion);
        if (sandbox.sandbox.state == SandboxState::stopping && under_way) continue;
        tell(sandbox, "sandbox.expired", now);
        tear_down(sandbox, now);
        ++swept.expired;
    }
    while (!leases_.empty() && leases_.begin()->first <= now) {
        queue_again(operation_at(leases_.begin()->second), now);
        ++swept.releases;
    }
    prune(now, swept);
    return swept;
}

bool State::is_lost(const NodeRecord& node, Timestamp now) const {
    return node.lost || now - std::max(node.node.last_seen, counting_from_) > settings_.node_lost;
}

void State::lose(NodeRecord& node, Timestamp now, Swept& swept) {
    node.lost = true;
    ++swept.lost_nodes;
    log::warn("node lost: no heartbeat", {{"node", node.node.id.text()},
                                          {"name", node.node.name},
                                          {"last_seen", format_time(node.node.last_seen)},
                                          {"sandboxes", std::to_string(node.live.size())}});
    for (const auto& id : std::vector(node.live.begin(), node.live.end())) {
        auto& sandbox = sandboxes_.at(id);
        const bool under_way = sandbox.deletion && sandbox.open.contains(*sandbox.deletion);
        node.abandoned.insert(id);
        if (sandbox.sandbox.state == SandboxState::stopping && under_way) {
            finish_teardown(sandbox, operation_at(*sandbox.deletion), now);
            continue;
        }
        fail_sandbox(sandbox, "node lost", now);
        tell(sandbox, "sandbox.lost", now, {{"reason", "node lost"}});
        ++swept.lost_sandboxes;
    }
    // What is left is no live sandbox's: teardowns of ended ones.
    for (const auto& id : std::vector(node.leased.begin(), node.leased.end()))
        end(operation_at(id), {.error = "node lost", .output = std::nullopt}, now);
    for (const auto& [after_deletes, place, id] : std::vector(node.pending.begin(), node.pending.end()))
        end(operation_at(id), {.error = "node lost", .output = std::nullopt}, now);
}

}  // namespace sandbox::store::memory
