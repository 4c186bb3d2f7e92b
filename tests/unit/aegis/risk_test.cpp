#include "fleets.hpp"

namespace sandbox::aegis {
namespace {

using namespace domain;

SandboxSpec harmless() {
    auto spec = a_spec();
    spec.sensitivity = Sensitivity::public_data;
    return spec;
}

int risk_with(void (*change)(SandboxSpec&)) {
    auto spec = harmless();
    change(spec);
    return risk_score(spec);
}

TEST(Risk, is_nothing_for_public_data_without_a_network) {
    EXPECT_EQ(risk_score(harmless()), 0);
}

TEST(Risk, has_its_points_for_each_signal) {
    EXPECT_EQ(risk_with([](auto& spec) { spec.sensitivity = Sensitivity::internal; }), 10);
    EXPECT_EQ(risk_with([](auto& spec) { spec.sensitivity = Sensitivity::confidential; }), 25);
    EXPECT_EQ(risk_with([](auto& spec) { spec.sensitivity = Sensitivity::restricted; }), 45);
    EXPECT_EQ(risk_with([](auto& spec) { spec.network = Network::restricted_egress; }), 10);
    EXPECT_EQ(risk_with([](auto& spec) { spec.network = Network::open_egress; }), 25);
    EXPECT_EQ(risk_with([](auto& spec) { spec.signals.untrusted_repository = true; }), 20);
    EXPECT_EQ(risk_with([](auto& spec) { spec.signals.executes_generated_code = true; }), 20);
    EXPECT_EQ(risk_with([](auto& spec) { spec.signals.needs_secrets = true; }), 15);
    EXPECT_EQ(risk_with([](auto& spec) { spec.signals.host_mounts = true; }), 25);
    EXPECT_EQ(risk_with([](auto& spec) { spec.signals.privileged = true; }), 100);
    EXPECT_EQ(risk_with([](auto& spec) { spec.exposures.resize(1); }), 15);
    EXPECT_EQ(risk_with([](auto& spec) { spec.exposures.resize(3); }), 15);
}

// Over a day, not at a day.
TEST(Risk, counts_a_long_life_from_the_second_after_a_day) {
    EXPECT_EQ(risk_with([](auto& spec) { spec.ttl_seconds = 86'400; }), 0);
    EXPECT_EQ(risk_with([](auto& spec) { spec.ttl_seconds = 86'401; }), 10);
}

TEST(Risk, ends_at_a_hundred) {
    EXPECT_EQ(risk_with([](auto& spec) {
                  spec.sensitivity = Sensitivity::restricted;
                  spec.network = Network::open_egress;
                  spec.signals = {true, true, true, true, true};
              }),
              100);
}

TEST(Isolation, is_a_microvm_from_the_threshold_on_whatever_was_asked) {
    for (const auto preference :
         {IsolationPreference::automatic, IsolationPreference::container, IsolationPreference::microvm})
        EXPECT_EQ(required_tier(55, preference, {}), Tier::microvm);
}

TEST(Isolation, is_what_was_asked_below_the_threshold) {
    EXPECT_EQ(required_tier(54, IsolationPreference::automatic, {}), Tier::container);
    EXPECT_EQ(required_tier(54, IsolationPreference::container, {}), Tier::container);
    EXPECT_EQ(required_tier(0, IsolationPreference::microvm, {}), Tier::microvm);
}

TEST(Isolation, has_its_rule_off_at_101_and_always_on_at_0) {
    EXPECT_EQ(required_tier(100, IsolationPreference::automatic, {.microvm_risk_threshold = 101}), Tier::container);
    EXPECT_EQ(required_tier(0, IsolationPreference::automatic, {.microvm_risk_threshold = 0}), Tier::microvm);
}

}  // namespace
}  // namespace sandbox::aegis
