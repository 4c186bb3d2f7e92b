#include <string>
#include <unordered_set>

#include <sandbox/base/log.hpp>

#include "memory/state.hpp"

namespace sandbox::store::memory {

using domain::SandboxState;

namespace {

std::string why_exited(const domain::InventoryItem& item) {
    constexpr std::int64_t kKilled = 137;
    if (item.oom_killed) return "sandbox ended: out of memory";
    if (item.exit_code == kKilled) return "sandbox lost: killed or removed from outside";
    if (item.exit_code) return "sandbox ended by itself with status " + std::to_string(*item.exit_code);
    return "sandbox ended by itself";
}

}  // namespace

std::vector<domain::SandboxId> State::settle_inventory(NodeRecord& node,
                                                       const std::vector<domain::InventoryItem>& inventory,
                                                       Timestamp now) {
    std::vector<domain::SandboxId> remove;
    const auto known_strangers = node.strangers.size();
    for (const auto& item : inventory)
        if (settle_item(node, item, now)) remove.push_back(item.sandbox_id);
    if (node.strangers.size() > known_strangers) {
        log::warn("a node holds sandboxes that are not known here; they are removed after the grace time",
                  {{"node", node.node.id.text()},
                   {"sandboxes", std::to_string(node.strangers.size())},
                   {"grace_seconds", std::to_string(settings_.orphan_grace.count())}});
    }
    settle_missing(node, inventory, now);
    return remove;
}

bool State::settle_item(NodeRecord& node, const domain::InventoryItem& item, Timestamp now) {
    const auto found = sandboxes_.find(item.sandbox_id);
    if (found == sandboxes_.end()) {
        node.strangers.try_emplace(item.sandbox_id, now);
        return is_orphan(node, item.sandbox_id, now);
    }
    auto& record = found->second;
    auto& sandbox = record.sandbox;
    if (!domain::is_live(sandbox.state)) return !record.deletion || !record.open.contains(*record.deletion);
    if (sandbox.node_id != node.node.id || sandbox.state != SandboxState::running) return false;

    record.inventories_missed = 0;
    if (item.startup && item.startup != sandbox.startup) {
        sandbox.startup = item.startup;
        sandbox.updated_at = now;
    }
    if (item.running) return false;
    const auto reason = why_exited(item);
    fail_sandbox(record, reason, now);
    tell(record, "sandbox.lost", now, {{"reason", reason}});
    return true;
}

/// A running sandbox that the node does not hold is lost. One inventory may be older than a create that has just ended,
/// so it takes two.
void State::settle_missing(NodeRecord& node, const std::vector<domain::InventoryItem>& inventory, Timestamp now) {
    std::unordered_set<domain::SandboxId> present;
    for (const auto& item : inventory) present.insert(item.sandbox_id);
    std::erase_if(node.strangers, [&](const auto& stranger) { return !present.contains(stranger.first); });

    for (const auto& id : std::vector(node.live.begin(), node.live.end())) {
        auto& record = sandboxes_.at(id);
        if (record.sandbox.state != SandboxState::running || present.contains(id)) continue;
        if (++record.inventories_missed < 2) continue;
        const std::string reason = "sandbox lost: its node no longer has it";
        fail_sandbox(record, reason, now);
        tell(record, "sandbox.lost", now, {{"reason", reason}});
    }
}

/// What the controller has never heard of may belong to a restored backup or a restarted memory store, so it is given
/// time.
bool State::is_orphan(const NodeRecord& node, const domain::SandboxId& id, Timestamp now) const {
    if (now < node.strangers.at(id) + settings_.orphan_grace) return false;
    log::warn("removing a sandbox that is not known here", {{"node", node.node.id.text()}, {"sandbox", id.text()}});
    return true;
}

}  // namespace sandbox::store::memory
