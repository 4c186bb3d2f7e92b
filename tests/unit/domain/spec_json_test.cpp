#include <sandbox/domain/spec.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

SandboxSpec read(const nlohmann::json& json) {
    Problems problems;
    auto spec = read_spec(json, "spec", problems, UnknownFields::refuse);
    EXPECT_EQ(joined(problems), "");
    return spec;
}

std::string problems_of(const nlohmann::json& json) {
    Problems problems;
    (void)read_spec(json, "spec", problems, UnknownFields::refuse);
    return joined(problems);
}

SandboxSpec a_full_spec() {
    auto spec = a_spec();
    spec.command = {"sh", "-c", "sleep 1"};
    spec.env = {{"A", "two\nlines"}};
    spec.resources = {250, 64, 128, 32};
    spec.network = Network::restricted_egress;
    spec.isolation = IsolationPreference::microvm;
    spec.sensitivity = Sensitivity::public_data;
    spec.signals = {true, true, true, true, false};
    spec.ttl_seconds = 30;
    spec.labels = {{"app", "web"}};
    spec.placement = {{{"disk", "ssd"}}, "eu", {"app"}};
    spec.exposures = {{8000, Protocol::http, "demo", false}, {9000, Protocol::http, std::nullopt, false}};
    spec.agent = "codex";
    return spec;
}

TEST(SpecJson, fills_in_every_default) {
    const auto spec = read(json_of(R"({"tenant": "acme", "image": "python:3.13"})"));

    EXPECT_EQ(spec, a_spec());
    EXPECT_EQ(nlohmann::json(spec), json_of(R"({
        "tenant": "acme", "image": "python:3.13", "command": [], "env": {},
        "resources": {"cpu_millis": 1000, "memory_mib": 1024, "disk_mib": 10240, "pids": 256},
        "network": "deny", "isolation": "auto", "sensitivity": "internal",
        "signals": {"untrusted_repository": false, "executes_generated_code": false, "needs_secrets": false,
                    "host_mounts": false, "privileged": false},
        "ttl_seconds": 3600, "labels": {},
        "placement": {"required_labels": {}, "preferred_region": null, "anti_affinity_keys": []},
        "exposures": [], "agent": null})"));
}

TEST(SpecJson, survives_the_way_through_json) {
    EXPECT_EQ(read(nlohmann::json(a_full_spec())), a_full_spec());
}

TEST(SpecJson, takes_the_short_forms_of_network_and_writes_the_long_ones) {
    auto json = nlohmann::json(a_spec());
    for (const auto& [given, written] :
         std::vector<std::pair<std::string, std::string>>{{"deny", "deny"},
                                                          {"restricted", "restricted_egress"},
                                                          {"restricted_egress", "restricted_egress"},
                                                          {"open", "open_egress"},
                                                          {"open_egress", "open_egress"}}) {
        json["network"] = given;
        EXPECT_EQ(nlohmann::json(read(json))["network"], written);
    }
    json["network"] = "bridge";
    EXPECT_EQ(problems_of(json), "spec.network: must be one of deny, restricted_egress, open_egress, restricted, open");
}

TEST(SpecJson, always_writes_an_exposures_protocol) {
    const auto spec = read(json_of(R"({"tenant": "t", "image": "i", "exposures": [{"container_port": 80}]})"));

    EXPECT_EQ(nlohmann::json(spec)["exposures"][0],
              json_of(R"({"container_port": 80, "protocol": "http", "subdomain": null, "authenticated": false})"));
}

TEST(SpecJson, needs_all_four_resources_when_any_are_given) {
    EXPECT_EQ(problems_of(json_of(R"({"tenant": "t", "image": "i", "resources": {"cpu_millis": 1, "pids": 1}})")),
              "spec.resources.memory_mib: is required: an integer from 64 to 4294967295; "
              "spec.resources.disk_mib: is required: an integer from 64 to 4294967295");
}

TEST(SpecJson, reports_all_problems_together_each_with_its_path) {
    EXPECT_EQ(problems_of(json_of(R"({
        "tenant": 7, "command": ["a", 1], "env": {"A": 1}, "ttl_seconds": "60", "labels": [],
        "signals": {"privilegd": true}, "placement": {"required_labels": {"a": null}},
        "exposures": [{"container_port": 70000, "protocol": "udp"}], "isolaton": "auto"})")),
              "spec.tenant: must be a string; "
              "spec.image: is required: a string; "
              "spec.command[1]: must be a string; "
              "spec.env.A: must be a string; "
              "spec.signals.privilegd: unknown field; did you mean \"privileged\"?; "
              "spec.ttl_seconds: must be an integer from 30 to 604800; "
              "spec.labels: must be an object of strings; "
              "spec.placement.required_labels.a: must be a string; "
              "spec.exposures[0].container_port: must be an integer from 1 to 65535; "
              "spec.exposures[0].protocol: must be one of http, tcp; "
              "spec.isolaton: unknown field; did you mean \"isolation\"?");
}

TEST(SpecJson, takes_null_for_an_absent_field) {
    EXPECT_EQ(read(json_of(R"({"tenant": "acme", "image": "python:3.13", "command": null, "resources": null,
                               "network": null, "signals": null, "ttl_seconds": null, "agent": null})")),
              a_spec());
}

TEST(SpecJson, refuses_what_is_no_object) {
    EXPECT_EQ(problems_of(json_of("[]")), "spec: must be an object");
}

TEST(Resources, add_up_and_compare_by_quantity) {
    const Resources a{1, 20, 3, 40};
    const Resources b{10, 2, 30, 4};

    EXPECT_EQ(a + b, (Resources{11, 22, 33, 44}));
    EXPECT_EQ(a + b - b, a);
    EXPECT_EQ(least(a, b), (Resources{1, 2, 3, 4}));
}

}  // namespace
}  // namespace sandbox::domain
