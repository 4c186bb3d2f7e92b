#include <limits>

#include <sandbox/domain/validation.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

std::string problems_of(const SandboxSpec& spec, const SpecLimits& limits = {}) {
    Problems problems;
    validate(spec, "spec", limits, problems);
    return joined(problems);
}

SandboxSpec with(void (*change)(SandboxSpec&)) {
    auto spec = a_spec();
    change(spec);
    return spec;
}

SandboxSpec exposing(std::vector<Exposure> exposures) {
    auto spec = a_spec();
    spec.exposures = std::move(exposures);
    return spec;
}

Exposure port(std::int64_t number, std::optional<std::string> subdomain = std::nullopt) {
    return {number, Protocol::http, std::move(subdomain), false};
}

std::vector<Exposure> ports(int count) {
    std::vector<Exposure> exposures;
    for (int i = 0; i < count; ++i) exposures.push_back(port(1000 + i));
    return exposures;
}

TEST(SpecRules, find_nothing_wrong_with_an_ordinary_spec) {
    EXPECT_EQ(problems_of(a_spec()), "");
}

// 128 characters, not bytes.
TEST(SpecRules, want_a_tenant_of_1_to_128_characters) {
    std::string longest;
    for (int i = 0; i < 128; ++i) longest += "\xC3\xA9";
    auto spec = a_spec();
    spec.tenant = longest;
    EXPECT_EQ(problems_of(spec), "");
    spec.tenant += "x";
    EXPECT_EQ(problems_of(spec), "spec.tenant: must have at most 128 characters");
    for (const auto* blank : {"", " ", "\t\n"}) {
        spec.tenant = blank;
        EXPECT_EQ(problems_of(spec), "spec.tenant: must not be blank");
    }
}

TEST(SpecRules, want_an_image_reference) {
    EXPECT_EQ(problems_of(with([](auto& spec) { spec.image = "python 3"; })),
              "spec.image: must be an image reference such as python:3.13 or registry.example.com/team/app:1");
}

TEST(SpecRules, hold_the_start_up_command_to_an_execs_rules) {
    EXPECT_EQ(problems_of(with([](auto& spec) { spec.command = {"", "x"}; })),
              "spec.command[0]: must name a program, not be blank");
    EXPECT_EQ(problems_of(with([](auto& spec) { spec.command = {"a", std::string(131'072, 'x')}; })),
              "spec.command[1]: has 131072 bytes; the kernel takes at most 131071 in one argument");
}

TEST(SpecRules, want_real_names_of_variables) {
    for (const auto* good : {"A", "_", "a1_B"}) EXPECT_TRUE(is_env_name(good)) << good;
    for (const auto* bad : {"", "1A", "A-B", "A=B", "A B", "\xC3\xA9"}) EXPECT_FALSE(is_env_name(bad)) << bad;
    EXPECT_EQ(problems_of(with([](auto& spec) { spec.env = {{"A-B", "x"}, {"OK", "any\n\"thing\""}}; })),
              "spec.env[\"A-B\"]: is no name for a variable: letters, digits and _, not beginning with a digit");
}

TEST(SpecRules, have_a_floor_for_each_resource) {
    EXPECT_EQ(problems_of(with([](auto& spec) { spec.resources = {1, 64, 64, 1}; })), "");
    EXPECT_EQ(problems_of(with([](auto& spec) { spec.resources = {0, 63, 63, 0}; })),
              "spec.resources.cpu_millis: must be from 1 to 4294967295; "
              "spec.resources.memory_mib: must be from 64 to 4294967295; "
              "spec.resources.disk_mib: must be from 64 to 4294967295; "
              "spec.resources.pids: must be from 1 to 4294967295");
    EXPECT_NE(problems_of(with([](auto& spec) { spec.resources.memory_mib = std::numeric_limits<int64_t>::max(); })),
              "");
}

TEST(SpecRules, bound_the_ttl_by_the_contract_and_by_the_deployment) {
    auto spec = a_spec();
    const SpecLimits most{.max_ttl_seconds = 604'800};
    for (const std::int64_t good : {30, 604'800}) {
        spec.ttl_seconds = good;
        EXPECT_EQ(problems_of(spec, most), "");
    }
    for (const std::int64_t bad : {29, 0, -1, 604'801}) {
        spec.ttl_seconds = bad;
        EXPECT_EQ(problems_of(spec, most), "spec.ttl_seconds: must be from 30 to 604800");
    }
    spec.ttl_seconds = 86'401;
    EXPECT_EQ(problems_of(spec),
              "spec.ttl_seconds: is 86401; this deployment allows at most 86400 (policy.max_ttl_seconds)");
}

TEST(SpecRules, never_allow_privileged) {
    EXPECT_EQ(problems_of(with([](auto& spec) { spec.signals.privileged = true; })),
              "spec.signals.privileged: privileged sandboxes are never allowed");
}

TEST(SpecRules, bound_the_exposures_by_the_contract_and_by_the_deployment) {
    EXPECT_EQ(problems_of(exposing(ports(8))), "");
    EXPECT_EQ(problems_of(exposing(ports(9))), "spec.exposures: has 9 entries; at most 8 are allowed");
    EXPECT_EQ(problems_of(exposing(ports(32)), {.max_exposures = 32}), "");
    EXPECT_EQ(problems_of(exposing(ports(33)), {.max_exposures = 99}),
              "spec.exposures: has 33 entries; at most 32 are allowed");
}

TEST(SpecRules, allow_one_tunnel_for_a_port_and_one_for_a_name) {
    EXPECT_EQ(problems_of(exposing({port(80), port(81), port(80)})),
              "spec.exposures[2].container_port: is in the list twice; one tunnel per port");
    EXPECT_EQ(problems_of(exposing({port(80, "demo"), port(81, "demo")})),
              "spec.exposures[1].subdomain: is in the list twice");
}

TEST(SpecRules, say_what_exists_instead_of_tcp_and_of_a_login) {
    EXPECT_EQ(problems_of(exposing({{80, Protocol::tcp, std::nullopt, true}})),
              "spec.exposures[0].protocol: tcp is not offered; tunnels carry http, WebSocket included; "
              "spec.exposures[0].authenticated: there is no visitor login: tunnels are public, so leave it false and "
              "let the service itself ask for one");
}

TEST(SpecRules, publish_nothing_that_is_confidential) {
    auto spec = exposing(ports(1));
    for (const auto sensitivity : {Sensitivity::public_data, Sensitivity::internal}) {
        spec.sensitivity = sensitivity;
        EXPECT_EQ(problems_of(spec), "");
    }
    for (const auto sensitivity : {Sensitivity::confidential, Sensitivity::restricted}) {
        spec.sensitivity = sensitivity;
        EXPECT_EQ(problems_of(spec), "spec.exposures: a " + std::string(to_text(sensitivity)) +
                                         " sandbox can't be exposed: tunnels are public and have no visitor login");
    }
    spec.exposures.clear();
    EXPECT_EQ(problems_of(spec), "");
}

// Said also when reading found something wrong with an exposure.
TEST(SpecRules, say_that_a_restricted_sandbox_is_not_published_beside_other_problems) {
    Problems problems;
    const auto spec = read_spec(json_of(R"({"tenant": "t", "image": "i", "sensitivity": "restricted",
                                            "exposures": [{"container_port": 0}]})"),
                                "spec", problems, UnknownFields::refuse);
    validate(spec, "spec", {}, problems);

    EXPECT_EQ(joined(problems),
              "spec.exposures[0].container_port: must be an integer from 1 to 65535; "
              "spec.exposures: a restricted sandbox can't be exposed: tunnels are public and have no visitor login");
}

TEST(SpecRules, want_a_free_dns_label_as_subdomain) {
    for (const auto& good : {std::string("a"), std::string("0-9"), std::string(63, 'a')})
        EXPECT_EQ(problems_of(exposing({port(80, good)})), "") << good;
    for (const auto& bad : {std::string(""), std::string("-a"), std::string("a-"), std::string("A"), std::string("a.b"),
                            std::string("a_b"), std::string(64, 'a')})
        EXPECT_EQ(problems_of(exposing({port(80, bad)})),
                  "spec.exposures[0].subdomain: must be 1 to 63 of a-z, 0-9 and -, without a hyphen at either end")
            << bad;
    for (const auto& reserved : {std::string("relay"), "s-" + std::string(32, 'a') + "-p80"})
        EXPECT_EQ(problems_of(exposing({port(80, reserved)})),
                  "spec.exposures[0].subdomain: is reserved; choose another");
    EXPECT_FALSE(is_reserved_label("s-" + std::string(32, 'g') + "-p80"));
    EXPECT_FALSE(is_reserved_label("s-1"));
}

TEST(SpecRules, refuse_nul_wherever_it_stands) {
    const std::string nul("a\0b", 3);
    auto spec = a_spec();
    spec.tenant = spec.image = nul;
    spec.command = {"x", nul};
    spec.env = {{"A", nul}};
    spec.labels = {{nul, "x"}};
    spec.placement = {{{"a", nul}}, nul, {nul}};
    spec.agent = nul;
    Problems problems;
    validate(spec, "spec", {}, problems);

    EXPECT_EQ(problems.items().size(), 9U) << joined(problems);
}

TEST(SpecRules, say_a_thing_once_when_reading_has_said_it) {
    Problems problems;
    const auto spec = read_spec(json_of(R"({"resources": {"cpu_millis": 0, "memory_mib": 64, "disk_mib": 64, "pids": 1},
                                            "ttl_seconds": 5, "exposures": [{}]})"),
                                "spec", problems, UnknownFields::refuse);
    const auto before = problems.items();
    validate(spec, "spec", {}, problems);

    EXPECT_EQ(problems.items(), before);
}

}  // namespace
}  // namespace sandbox::domain
