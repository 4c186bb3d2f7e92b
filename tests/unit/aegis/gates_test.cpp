#include <cmath>
#include <limits>

#include "fleets.hpp"

namespace sandbox::aegis {
namespace {

using namespace domain;
using namespace std::chrono_literals;

TEST(Gates, let_an_idle_node_pass) {
    EXPECT_EQ(gate(a_node()), "");
}

TEST(Gates, remove_a_draining_node) {
    auto node = a_node();
    node.draining = true;
    EXPECT_EQ(gate(node), "draining");
}

// Ages count in whole seconds: 45.999999 s is 45, and 45 is not more than 45.
TEST(Gates, remove_a_node_that_was_not_heard_of_in_time) {
    auto node = a_node();
    node.last_seen = kNow - 45s - 999'999us;
    EXPECT_EQ(gate(node), "");
    node.last_seen = kNow - 46s;
    EXPECT_EQ(gate(node), "stale");
    node.last_seen = kNow + 1h;
    EXPECT_EQ(gate(node), "");
}

// The limit is a float as the pressure is: 0.92 read from a heartbeat is not above 0.92.
TEST(Gates, remove_a_node_under_pressure) {
    auto node = a_node();
    for (const float good : {-1.0F, 0.0F, 0.92F, static_cast<float>(0.92)}) {
        node.pressure = good;
        EXPECT_EQ(gate(node), "") << good;
    }
    for (const float bad : {std::nextafter(0.92F, 1.0F), 1.0F, 7.0F, std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        node.pressure = bad;
        EXPECT_EQ(gate(node), "pressure") << bad;
    }
}

TEST(Gates, remove_a_node_at_full_pressure_whatever_the_policy_allows) {
    auto node = a_node();
    node.pressure = 1;
    EXPECT_EQ(gate(node, a_spec(), {.max_host_pressure = 1}), "pressure");
    node.pressure = 0.99F;
    EXPECT_EQ(gate(node, a_spec(), {.max_host_pressure = 1}), "");
}

TEST(Gates, remove_a_node_that_lacks_the_tier_and_never_weaken_it) {
    auto node = a_node();
    node.supported_tiers = {Tier::container};
    auto spec = a_spec();
    EXPECT_EQ(gate(node, spec), "");
    spec.isolation = IsolationPreference::microvm;
    EXPECT_EQ(gate(node, spec), "isolation");
    node.supported_tiers = {Tier::microvm};
    EXPECT_EQ(gate(node, spec), "");
    spec.isolation = IsolationPreference::container;
    EXPECT_EQ(gate(node, spec), "isolation");
}

TEST(Gates, remove_a_node_without_tunnels_when_exposures_are_wanted) {
    auto node = a_node();
    auto spec = a_spec();
    spec.exposures.resize(1);
    EXPECT_EQ(gate(node, spec), "tunnels");
    node.supports_http_tunnels = true;
    EXPECT_EQ(gate(node, spec), "");
}

TEST(Gates, remove_a_node_where_any_one_resource_is_short) {
    for (const auto quantity :
         {&Resources::cpu_millis, &Resources::memory_mib, &Resources::disk_mib, &Resources::pids}) {
        auto node = a_node();
        node.capacity.available.*quantity = 100;
        EXPECT_EQ(gate(node, a_spec(), {.reserve_ratio = 0}), "");
        node.capacity.available.*quantity = 99;
        EXPECT_EQ(gate(node, a_spec(), {.reserve_ratio = 0}), "resources");
        node.capacity.available.*quantity = -5;
        EXPECT_EQ(gate(node), "resources");
    }
}

TEST(Gates, remove_a_node_that_holds_all_the_sandboxes_it_may) {
    auto node = a_node();
    node.capacity.running_sandboxes = 5;
    EXPECT_EQ(gate(node), "");  // 0: no limit
    node.capacity.max_sandboxes = 6;
    EXPECT_EQ(gate(node), "");
    node.capacity.max_sandboxes = 5;
    EXPECT_EQ(gate(node), "sandbox_limit");
}

TEST(Gates, remove_a_node_without_the_required_labels_and_their_values) {
    auto node = a_node();
    node.labels = {{"disk", "ssd"}, {"gpu", ""}};
    auto spec = a_spec();
    spec.placement.required_labels = {{"disk", "ssd"}, {"gpu", ""}};
    EXPECT_EQ(gate(node, spec), "");
    spec.placement.required_labels = {{"disk", "hdd"}};
    EXPECT_EQ(gate(node, spec), "labels");
    spec.placement.required_labels = {{"rack", "1"}};
    EXPECT_EQ(gate(node, spec), "labels");
}

TEST(Gates, keep_a_reserve_of_the_scarcest_resource) {
    auto node = a_node();
    node.capacity.available.pids = 150;
    EXPECT_EQ(gate(node), "");  // exactly 0.05 remains
    node.capacity.available.pids = 149;
    EXPECT_EQ(gate(node), "reserve");
    EXPECT_EQ(gate(node, a_spec(), {.reserve_ratio = 0.049}), "");
}

TEST(Gates, count_nothing_as_remaining_of_what_a_node_has_not) {
    auto node = a_node();
    node.capacity.total.disk_mib = 0;
    EXPECT_EQ(gate(node), "reserve");
}

// A node for each gate at which everything after it holds as well: the first in order is what counts.
TEST(Gates, count_a_node_at_the_first_that_holds) {
    auto spec = a_spec();
    spec.isolation = IsolationPreference::microvm;
    spec.exposures.resize(1);
    spec.placement.required_labels = {{"disk", "ssd"}};

    auto node = a_node();
    node.draining = true;
    node.last_seen = kNow - 1h;
    node.pressure = 1;
    node.supported_tiers = {};
    node.capacity.available = {99, 0, 0, 0};
    node.capacity.max_sandboxes = node.capacity.running_sandboxes = 1;

    EXPECT_EQ(gate(node, spec), "draining");
    node.draining = false;
    EXPECT_EQ(gate(node, spec), "stale");
    node.last_seen = kNow;
    EXPECT_EQ(gate(node, spec), "pressure");
    node.pressure = 0;
    EXPECT_EQ(gate(node, spec), "isolation");
    node.supported_tiers = {Tier::microvm};
    EXPECT_EQ(gate(node, spec), "tunnels");
    node.supports_http_tunnels = true;
    EXPECT_EQ(gate(node, spec), "resources");
    node.capacity.available = {100, 100, 100, 100};
    EXPECT_EQ(gate(node, spec), "sandbox_limit");
    node.capacity.max_sandboxes = 0;
    EXPECT_EQ(gate(node, spec), "labels");
    node.labels = {{"disk", "ssd"}};
    EXPECT_EQ(gate(node, spec), "reserve");
    node.capacity.available = node.capacity.total;
    EXPECT_EQ(gate(node, spec), "");
}

TEST(Gates, report_what_they_removed_also_beside_a_choice) {
    auto draining = a_node(1);
    draining.draining = true;
    auto drained = a_node(2);
    drained.draining = true;
    auto full = a_node(3);
    full.capacity.available = {0, 0, 0, 0};
    const auto decision = decide(fleet_of({draining, drained, full, a_node(4)}));

    EXPECT_EQ(decision.node, node_id(4));
    EXPECT_EQ(decision.nodes, 4);
    EXPECT_EQ(decision.rejected, (Rejected{{"draining", 2}, {"resources", 1}}));
}

TEST(Gates, refuse_an_empty_fleet_with_its_count) {
    const auto outcome = Fleet().place(a_spec(), {}, kNow);

    const auto* refusal = std::get_if<Refusal>(&outcome);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->nodes, 0);
    EXPECT_TRUE(refusal->rejected.empty());
    EXPECT_EQ(refusal->risk, 10);
}

}  // namespace
}  // namespace sandbox::aegis
