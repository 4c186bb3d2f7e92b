#include <algorithm>
#include <random>

#include "fleets.hpp"

namespace sandbox::aegis {
namespace {

using namespace domain;

TEST(Fleet, takes_what_a_node_says_last) {
    auto node = a_node();
    node.warm_images = {"busybox", "alpine"};
    node.labels = {{"disk", "ssd"}, {"rack", "1"}};
    auto fleet = fleet_of({node});
    node.region = "us";
    node.warm_images = {"alpine"};
    node.labels = {{"disk", "hdd"}};
    fleet.upsert(node);

    auto spec = a_spec();
    spec.placement.preferred_region = "us";
    spec.placement.required_labels = {{"disk", "hdd"}};
    EXPECT_EQ(fleet.size(), 1U);
    EXPECT_EQ(decide(fleet, spec).score, 1000 + 450 + 80);
    spec.placement.preferred_region = "eu";
    EXPECT_EQ(decide(fleet, spec).score, 1000 + 450);
    spec.placement.required_labels = {{"rack", "1"}};
    EXPECT_TRUE(std::holds_alternative<Refusal>(fleet.place(spec, {}, kNow)));
}

TEST(Fleet, changes_a_nodes_capacity_alone) {
    auto node = a_node();
    node.warm_images = {"busybox"};
    auto fleet = fleet_of({node});
    node.capacity.available.cpu_millis = 300;
    fleet.set_capacity(node.id, node.capacity);
    fleet.set_capacity(node_id(77), node.capacity);  // nobody

    EXPECT_EQ(decide(fleet).score, score(node));
    EXPECT_EQ(fleet.size(), 1U);
}

TEST(Fleet, forgets_a_removed_node_and_gives_its_place_to_another) {
    auto first = a_node(1);
    first.warm_images = {"busybox"};
    first.labels = {{"disk", "ssd"}};
    auto fleet = fleet_of({first});
    fleet.remove(first.id);
    fleet.remove(first.id);
    EXPECT_EQ(fleet.size(), 0U);
    EXPECT_TRUE(std::holds_alternative<Refusal>(fleet.place(a_spec(), {}, kNow)));

    fleet.upsert(a_node(2));
    EXPECT_EQ(decide(fleet).node, node_id(2));
    EXPECT_EQ(decide(fleet).reasons.back(), "warm_image=false");
    auto spec = a_spec();
    spec.placement.required_labels = {{"disk", "ssd"}};
    EXPECT_TRUE(std::holds_alternative<Refusal>(fleet.place(spec, {}, kNow)));
}

// A store that starts may read sandboxes before nodes, and a node may be gone for a while.
TEST(Fleet, keeps_live_sandboxes_whatever_comes_of_their_node) {
    auto spec = a_spec();
    spec.labels = {{"app", "web"}};
    spec.placement.anti_affinity_keys = {"app"};
    Fleet fleet;
    fleet.add_live(node_id(1), "acme", spec.labels);
    EXPECT_EQ(fleet.size(), 0U);
    fleet.upsert(a_node(1));
    EXPECT_EQ(decide(fleet, spec).score, 1470 - 200);
    fleet.remove(node_id(1));
    fleet.upsert(a_node(2));
    EXPECT_EQ(decide(fleet, spec).score, 1470);
    fleet.upsert(a_node(1));
    fleet.remove(node_id(2));
    EXPECT_EQ(decide(fleet, spec).score, 1470 - 200);
    fleet.remove_live(node_id(1), "acme", spec.labels);
    fleet.remove_live(node_id(1), "acme", spec.labels);  // once more than there were
    EXPECT_EQ(decide(fleet, spec).score, 1470);
}

Node a_random_node(std::mt19937_64& random, std::uint8_t n) {
    auto node = a_node(n);
    const auto below = [&](std::int64_t limit) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    };
    node.capacity.available = {below(1001), below(1001), below(1001), below(1001)};
    node.pressure = static_cast<float>(below(100)) / 100;
    node.draining = below(10) == 0;
    node.region = below(2) == 0 ? "eu" : "us";
    if (below(2) == 0) node.warm_images = {"busybox"};
    if (below(2) == 0) node.labels = {{"disk", "ssd"}};
    return node;
}

/// Score, node, counts and reasons as one text.
std::string text_of(const Outcome& outcome) {
    std::string text;
    const auto add_rejected = [&](const Rejected& rejected) {
        for (const auto& [gate, count] : rejected) text += gate + "=" + std::to_string(count) + " ";
    };
    if (const auto* decision = std::get_if<Decision>(&outcome)) {
        text = decision->node.text() + " " + std::to_string(decision->score) + " ";
        for (const auto& reason : decision->reasons) text += reason + " ";
        add_rejected(decision->rejected);
    } else {
        add_rejected(std::get<Refusal>(outcome).rejected);
    }
    return text;
}

// The same fleet gives the same answer however it came to be: in any order, with nodes and sandboxes that came and
// went in between.
TEST(Fleet, answers_the_same_whatever_its_history) {
    auto spec = a_spec();
    spec.labels = {{"app", "web"}};
    spec.placement.anti_affinity_keys = {"app"};
    spec.placement.preferred_region = "eu";
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<Node> nodes;
        for (std::uint8_t n = 1; n <= 40; ++n) nodes.push_back(a_random_node(random, n));
        auto plain = fleet_of(nodes);
        for (std::uint8_t n = 1; n <= 40; n += 3) plain.add_live(node_id(n), "acme", spec.labels);

        Fleet worn;
        for (std::uint8_t n = 30; n < 90; ++n) worn.upsert(a_random_node(random, n));
        for (std::uint8_t n = 30; n < 90; n += 2) worn.add_live(node_id(n), "acme", spec.labels);
        for (std::uint8_t n = 35; n < 90; ++n) worn.remove(node_id(n));
        for (std::uint8_t n = 30; n < 90; n += 2) worn.remove_live(node_id(n), "acme", spec.labels);
        std::ranges::shuffle(nodes, random);
        for (const auto& node : nodes) worn.upsert(node);
        for (std::uint8_t n = 1; n <= 40; n += 3) worn.add_live(node_id(n), "acme", spec.labels);

        const auto answer = text_of(plain.place(spec, {}, kNow));
        EXPECT_EQ(text_of(plain.place(spec, {}, kNow)), answer);
        EXPECT_EQ(text_of(worn.place(spec, {}, kNow)), answer) << "seed " << seed;
        EXPECT_EQ(worn.size(), plain.size());
    }
}

}  // namespace
}  // namespace sandbox::aegis
