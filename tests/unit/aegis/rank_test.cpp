#include <cmath>

#include "fleets.hpp"

namespace sandbox::aegis {
namespace {

using namespace domain;

/// A node on which this much of everything remains, in thousandths, once the spec is placed.
Node with_remaining(std::int64_t thousandths, std::uint8_t n = 1) {
    auto node = a_node(n);
    const auto available = thousandths + 100;
    node.capacity.available = {available, available, available, available};
    return node;
}

// 1000, half of the headroom in thousandths, 20 for having no preference.
TEST(Rank, begins_with_headroom) {
    EXPECT_EQ(score(with_remaining(900)), 1000 + 450 + 20);
    EXPECT_EQ(score(with_remaining(351)), 1000 + 176 + 20);  // 175.5 rounds away from zero
}

TEST(Rank, fills_nodes_up_below_a_headroom_of_035) {
    EXPECT_EQ(score(with_remaining(349)), 1000 + 175 + 20 + 70);
    EXPECT_EQ(score(with_remaining(350)), 1000 + 175 + 20 + 50);
    EXPECT_EQ(score(with_remaining(351)), 1000 + 176 + 20);
}

TEST(Rank, counts_more_available_than_total_as_all_of_it) {
    auto node = a_node();
    node.capacity.available = {5000, 5000, 5000, 5000};
    EXPECT_EQ(score(node), 1000 + 500 + 20 - 858);  // but the largest fraction, 4.9, is not cut
    EXPECT_EQ(decide(fleet_of({node})).reasons[1], "dominant_headroom=1.000");
}

TEST(Rank, takes_fragmentation_off) {
    auto node = with_remaining(900);
    node.capacity.available.memory_mib = 600;
    EXPECT_EQ(score(node), 1000 + 250 + 20 - 88);
}

TEST(Rank, takes_pressure_off_clamped_and_in_single_precision) {
    auto node = with_remaining(900);
    node.pressure = 0.5F;
    EXPECT_EQ(score(node), 1470 - 150);
    node.pressure = 0.515F;  // 154.5 in decimals; the float is a little less, 154.4999…
    EXPECT_EQ(score(node), 1470 - std::llround(300.0 * static_cast<double>(0.515F)));
    node.pressure = -0.25F;
    EXPECT_EQ(score(node), 1470);
}

TEST(Rank, likes_a_warm_image) {
    auto node = with_remaining(900);
    node.warm_images = {"alpine", "busybox"};
    EXPECT_EQ(score(node), 1470 + 120);
    node.warm_images = {"busybox:1"};
    EXPECT_EQ(score(node), 1470);
}

TEST(Rank, likes_the_preferred_region_and_a_little_to_have_none) {
    auto spec = a_spec();
    EXPECT_EQ(score(with_remaining(900), spec), 1450 + 20);
    spec.placement.preferred_region = "eu";
    EXPECT_EQ(score(with_remaining(900), spec), 1450 + 80);
    spec.placement.preferred_region = "us";
    EXPECT_EQ(score(with_remaining(900), spec), 1450);
    spec.placement.preferred_region = "";
    EXPECT_EQ(score(with_remaining(900), spec), 1450);
}

TEST(Rank, takes_the_smaller_id_among_equals) {
    auto large = a_node(0);
    large.id.uuid.bytes[0] = 0x80;  // by bytes without a sign: after 0x7f
    auto small = a_node(9);
    small.id.uuid.bytes[0] = 0x7F;

    EXPECT_EQ(decide(fleet_of({large, small})).node, small.id);
    EXPECT_EQ(decide(fleet_of({small, large})).node, small.id);
}

TEST(Rank, takes_the_highest_score_before_the_smaller_id) {
    EXPECT_EQ(decide(fleet_of({with_remaining(700, 1), with_remaining(800, 2)})).node, node_id(2));
}

TEST(Rank, spreads_a_tenants_sandboxes_of_one_label) {
    auto spec = a_spec();
    spec.labels = {{"app", "web"}, {"tier", "front"}};
    spec.placement.anti_affinity_keys = {"app", "none", "tier"};
    auto fleet = fleet_of({with_remaining(900)});
    const auto score = [&] { return decide(fleet, spec).score; };

    fleet.add_live(node_id(1), "other", {{"app", "web"}});   // another tenant
    fleet.add_live(node_id(1), "acme", {{"app", "batch"}});  // another value
    fleet.add_live(node_id(1), "acme", {{"none", "x"}});     // the new one has no such label
    EXPECT_EQ(score(), 1470);
    fleet.add_live(node_id(1), "acme", {{"app", "web"}});
    EXPECT_EQ(score(), 1470 - 200);
    fleet.add_live(node_id(1), "acme", {{"app", "web"}, {"tier", "front"}});
    EXPECT_EQ(score(), 1470 - 400);
    fleet.remove_live(node_id(1), "acme", {{"app", "web"}});
    EXPECT_EQ(score(), 1470 - 400);  // one of the two is still there
    fleet.remove_live(node_id(1), "acme", {{"app", "web"}, {"tier", "front"}});
    EXPECT_EQ(score(), 1470);
}

TEST(Rank, never_blocks_by_anti_affinity) {
    auto spec = a_spec();
    for (int i = 0; i < 10; ++i) {
        const auto key = std::to_string(i);
        spec.labels[key] = "x";
        spec.placement.anti_affinity_keys.push_back(key);
    }
    auto fleet = fleet_of({with_remaining(900)});
    fleet.add_live(node_id(1), "acme", spec.labels);

    EXPECT_EQ(decide(fleet, spec).score, 1470 - 2000);
}

TEST(Rank, gives_its_reasons_in_a_fixed_order) {
    auto spec = a_spec();
    spec.sensitivity = Sensitivity::confidential;
    spec.network = Network::restricted_egress;
    auto node = a_node();
    node.capacity.available = {942, 973, 942, 942};
    node.pressure = 0.1F;
    node.warm_images = {"busybox"};

    EXPECT_EQ(decide(fleet_of({node}), spec).reasons,
              (std::vector<std::string>{"risk=35; required_isolation=container", "dominant_headroom=0.842",
                                        "resource_fragmentation=0.031", "host_pressure=0.100", "warm_image=true"}));
}

/// A node of the worked example in docs/aegis.md.
Node an_example(std::uint8_t n, const Resources& available, float pressure) {
    auto node = a_node(n);
    node.capacity.total = {8000, 16'384, 204'800, 4096};
    node.capacity.available = available;
    node.pressure = pressure;
    return node;
}

TEST(Rank, decides_the_documents_worked_example_as_it_says) {
    SandboxSpec spec;
    spec.tenant = "acme";
    spec.image = "python:3.13";
    spec.resources = {2000, 4096, 20'480, 512};
    spec.network = Network::restricted_egress;
    spec.signals.executes_generated_code = true;
    const auto a = an_example(1, {8000, 16'384, 204'800, 4096}, 0.1F);
    auto b = an_example(2, {4400, 10'240, 122'880, 2560}, 0.3F);
    b.warm_images = {"python:3.13"};
    auto c = an_example(3, {8000, 16'384, 204'800, 4096}, 0);
    c.draining = true;
    const auto d = an_example(4, {1500, 16'384, 204'800, 4096}, 0);
    const auto decision = decide(fleet_of({a, b, c, d}), spec);

    EXPECT_EQ(decision.node, a.id);
    EXPECT_EQ(decision.score, 1332);
    EXPECT_EQ(score(b, spec), 1226);
    EXPECT_EQ(decision.rejected, (Rejected{{"draining", 1}, {"resources", 1}}));
    EXPECT_EQ(decision.reasons,
              (std::vector<std::string>{"risk=40; required_isolation=container", "dominant_headroom=0.750",
                                        "resource_fragmentation=0.150", "host_pressure=0.100", "warm_image=false"}));
}

}  // namespace
}  // namespace sandbox::aegis
