#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sandbox/aegis/aegis.hpp>

#include "slot_index.hpp"

namespace sandbox::aegis {

/// What the gates and the rank read of one node, packed together.
struct Row {
    domain::Resources available{0, 0, 0, 0};
    domain::Resources total{0, 0, 0, 0};
    Timestamp last_seen;
    std::int64_t max_sandboxes = 0;
    std::int64_t running_sandboxes = 0;
    float pressure = 0;
    std::uint8_t tiers = 0;  // bit n: domain::Tier n
    bool present = false;    // false: a free slot, or one that only has live sandboxes yet
    bool draining = false;
    bool tunnels = false;
};

/// What is needed to take a node out of the indexes again.
struct Identity {
    domain::NodeId id;
    std::string region;
    std::vector<std::string> labels;  // pairs
    std::vector<std::string> images;
    std::uint32_t live = 0;  // labels of live sandboxes
};

/// A label and its value as one string. Neither can hold NUL.
[[nodiscard]] inline std::string pair(std::string_view key, std::string_view value) {
    std::string text(key);
    text += '\0';
    text += value;
    return text;
}
[[nodiscard]] inline std::string tenant_pair(std::string_view tenant, std::string_view key, std::string_view value) {
    return pair(tenant, pair(key, value));
}

[[nodiscard]] constexpr std::uint8_t tier_bit(domain::Tier tier) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(tier));
}

struct FleetData {
    std::vector<Row> rows;             // by slot
    std::vector<Identity> identities;  // by slot
    std::vector<Slot> free;
    std::unordered_map<domain::NodeId, Slot> slots;
    std::size_t present = 0;

    SlotIndex images;
    SlotIndex labels;  // by pair
    SlotIndex regions;
    SlotCounts live;  // by tenant_pair

    /// The node's slot; a new one where it has none.
    Slot slot_of(const domain::NodeId& node);
    /// Gives the slot back when neither a node nor a live sandbox holds it.
    void release_if_unused(Slot slot);
};

struct Fleet::Data : FleetData {};

}  // namespace sandbox::aegis
