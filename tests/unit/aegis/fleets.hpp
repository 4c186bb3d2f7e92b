#pragma once

#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <sandbox/aegis/aegis.hpp>

/// Small fleets and what comes out of them.
namespace sandbox::aegis {

inline const Timestamp kNow = *parse_time("2026-11-30T00:00:00Z");

inline domain::NodeId node_id(std::uint8_t n) {
    domain::NodeId id;
    id.uuid.bytes[15] = n;
    return id;
}

/// An idle node of 1000 of everything, so that a fraction is what remains in thousandths.
inline domain::Node a_node(std::uint8_t n = 1) {
    domain::Node node;
    node.id = node_id(n);
    node.region = "eu";
    node.capacity.total = node.capacity.available = {1000, 1000, 1000, 1000};
    node.supported_tiers = {domain::Tier::container, domain::Tier::microvm};
    node.last_seen = kNow;
    return node;
}

inline domain::SandboxSpec a_spec() {
    domain::SandboxSpec spec;
    spec.tenant = "acme";
    spec.image = "busybox";
    spec.resources = {100, 100, 100, 100};
    return spec;
}

inline Fleet fleet_of(const std::vector<domain::Node>& nodes) {
    Fleet fleet;
    for (const auto& node : nodes) fleet.upsert(node);
    return fleet;
}

/// The decision of a placement that must succeed.
inline Decision decide(const Fleet& fleet, const domain::SandboxSpec& spec = a_spec(), const Policy& policy = {}) {
    const auto outcome = fleet.place(spec, policy, kNow);
    if (const auto* decision = std::get_if<Decision>(&outcome)) return *decision;
    ADD_FAILURE() << "no node was chosen";
    return {};
}

inline std::int64_t score(const domain::Node& node, const domain::SandboxSpec& spec = a_spec()) {
    return decide(fleet_of({node}), spec).score;
}

/// The gate that removes this one node; "" when it is chosen.
inline std::string gate(const domain::Node& node, const domain::SandboxSpec& spec = a_spec(),
                        const Policy& policy = {}) {
    const auto outcome = fleet_of({node}).place(spec, policy, kNow);
    const auto* refusal = std::get_if<Refusal>(&outcome);
    if (!refusal) return "";
    EXPECT_EQ(refusal->nodes, 1);
    EXPECT_EQ(refusal->rejected.size(), 1U);
    return refusal->rejected.begin()->first;
}

}  // namespace sandbox::aegis
