#include <algorithm>

#include <sandbox/aegis/aegis.hpp>

#include "fleet_data.hpp"

namespace sandbox::aegis {

namespace {

/// Has the index say that the slot has `next` where it had `now`.
void reindex(SlotIndex& index, Slot slot, std::vector<std::string>& now, std::vector<std::string> next) {
    if (now == next) return;
    for (const auto& text : now) index.erase(text, slot);
    for (const auto& text : next) index.insert(text, slot);
    now = std::move(next);
}

void set(Row& row, const domain::Capacity& capacity) {
    row.available = capacity.available;
    row.total = capacity.total;
    row.max_sandboxes = capacity.max_sandboxes;
    row.running_sandboxes = capacity.running_sandboxes;
}

}  // namespace

Slot FleetData::slot_of(const domain::NodeId& node) {
    const auto [entry, is_new] = slots.try_emplace(node, 0);
    if (!is_new) return entry->second;
    if (free.empty()) {
        free.push_back(static_cast<Slot>(rows.size()));
        rows.emplace_back();
        identities.emplace_back();
    }
    const auto slot = free.back();
    free.pop_back();
    identities[slot].id = node;
    entry->second = slot;
    return slot;
}

void FleetData::release_if_unused(Slot slot) {
    if (rows[slot].present || identities[slot].live != 0) return;
    slots.erase(identities[slot].id);
    identities[slot] = {};
    free.push_back(slot);
}

Fleet::Fleet() : data_(std::make_unique<Data>()) {}
Fleet::~Fleet() = default;
Fleet::Fleet(Fleet&&) noexcept = default;
Fleet& Fleet::operator=(Fleet&&) noexcept = default;

void Fleet::upsert(const domain::Node& node) {
    const auto slot = data_->slot_of(node.id);
    auto& identity = data_->identities[slot];
    auto& row = data_->rows[slot];

    std::vector<std::string> labels;
    labels.reserve(node.labels.size());
    for (const auto& [key, value] : node.labels) labels.push_back(pair(key, value));
    reindex(data_->labels, slot, identity.labels, std::move(labels));
    reindex(data_->images, slot, identity.images, node.warm_images);
    if (!row.present || identity.region != node.region) {
        if (row.present) data_->regions.erase(identity.region, slot);
        data_->regions.insert(node.region, slot);
        identity.region = node.region;
    }

    set(row, node.capacity);
    row.last_seen = node.last_seen;
    row.pressure = node.pressure;
    row.tiers = 0;
    for (const auto tier : node.supported_tiers) row.tiers |= tier_bit(tier);
    row.draining = node.draining;
    row.tunnels = node.supports_http_tunnels;
    if (!row.present) ++data_->present;
    row.present = true;
}

void Fleet::remove(const domain::NodeId& node) {
    const auto found = data_->slots.find(node);
    if (found == data_->slots.end() || !data_->rows[found->second].present) return;
    const auto slot = found->second;
    auto& identity = data_->identities[slot];
    reindex(data_->labels, slot, identity.labels, {});
    reindex(data_->images, slot, identity.images, {});
    data_->regions.erase(identity.region, slot);
    identity.region.clear();
    data_->rows[slot] = {};
    --data_->present;
    data_->release_if_unused(slot);
}

void Fleet::set_capacity(const domain::NodeId& node, const domain::Capacity& capacity) {
    const auto found = data_->slots.find(node);
    if (found != data_->slots.end() && data_->rows[found->second].present) set(data_->rows[found->second], capacity);
}

void Fleet::add_live(const domain::NodeId& node, std::string_view tenant,
                     const std::map<std::string, std::string>& labels) {
    if (labels.empty()) return;
    const auto slot = data_->slot_of(node);
    for (const auto& [key, value] : labels) {
        data_->live.add(tenant_pair(tenant, key, value), slot);
        ++data_->identities[slot].live;
    }
}

void Fleet::remove_live(const domain::NodeId& node, std::string_view tenant,
                        const std::map<std::string, std::string>& labels) {
    const auto found = data_->slots.find(node);
    if (found == data_->slots.end()) return;
    const auto slot = found->second;
    for (const auto& [key, value] : labels)
        if (data_->live.subtract(tenant_pair(tenant, key, value), slot)) --data_->identities[slot].live;
    data_->release_if_unused(slot);
}

std::size_t Fleet::size() const noexcept {
    return data_->present;
}

}  // namespace sandbox::aegis
