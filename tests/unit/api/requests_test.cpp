#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>

namespace sandbox::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr domain::SpecLimits kLimits{.max_ttl_seconds = 86400, .max_exposures = 8};

/// The message of a refused reading, "accepted" when it was not refused.
template <class T>
std::string refusal(const Result<T>& result) {
    if (result) return "accepted";
    EXPECT_EQ(result.error().code(), Code::invalid_argument);
    return result.error().message();
}

std::string refused_create(std::string_view body) {
    return refusal(read_create_request(body, kLimits));
}

std::string refused_exec(std::string_view body) {
    return refusal(read_exec_request(body));
}

TEST(CreateRequest, needs_a_tenant_and_an_image_only) {
    auto spec = read_create_request(R"({"spec": {"tenant": "acme", "image": "python:3.13"}})", kLimits);

    ASSERT_TRUE(spec) << spec.error().message();
    EXPECT_EQ(*spec, (domain::SandboxSpec{.tenant = "acme", .image = "python:3.13"}));
}

// What the client writes is what the server reads, every field of it.
TEST(CreateRequest, survives_the_way_from_client_to_server) {
    domain::SandboxSpec spec{.tenant = "acme",
                             .image = "registry.example.com/team/app:1",
                             .command = {"sh", "-c", "echo \"$X\"\n"},
                             .env = {{"X", "two\nlines"}},
                             .resources = {500, 256, 1024, 64},
                             .network = domain::Network::open_egress,
                             .isolation = domain::IsolationPreference::microvm,
                             .sensitivity = domain::Sensitivity::public_data,
                             .signals = {.untrusted_repository = true, .needs_secrets = true},
                             .ttl_seconds = 60,
                             .labels = {{"team", "a/b"}},
                             .placement = {.required_labels = {{"gpu", "yes"}}, .preferred_region = "eu"},
                             .exposures = {{.container_port = 8000, .subdomain = "demo"}},
                             .agent = "codex"};

    auto read = read_create_request(create_request(spec), kLimits);

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, spec);
}

// One round trip tells the caller all that is wrong, each with its path.
TEST(CreateRequest, is_told_all_its_problems_at_once) {
    auto message = refused_create(R"({"spec": {"tenant": " ", "image": "two words", "memry": 1,
        "resources": {"cpu_millis": 0, "memory_mib": 1024, "disk_mib": "10", "pids": 1.5},
        "network": "wide", "ttl_seconds": 604801, "signals": {"privileged": true},
        "exposures": [{"container_port": 70000}]}, "dry_run": true})");

    EXPECT_THAT(message, AllOf(HasSubstr("spec.tenant: "), HasSubstr("spec.image: "), HasSubstr("spec.memry: unknown"),
                               HasSubstr("spec.resources.cpu_millis: "), HasSubstr("spec.resources.disk_mib: "),
                               HasSubstr("spec.resources.pids: "), HasSubstr("spec.network: ")));
    EXPECT_THAT(message, AllOf(HasSubstr("spec.ttl_seconds: "), HasSubstr("spec.signals.privileged: "),
                               HasSubstr("spec.exposures[0].container_port: "), HasSubstr("dry_run: unknown field")));
}

TEST(CreateRequest, names_the_real_field_nearest_to_a_wrong_one) {
    EXPECT_THAT(refused_create(R"({"spec": {"tenant": "t", "image": "i", "lables": {}}})"),
                HasSubstr(R"(spec.lables: unknown field; did you mean "labels"?)"));
    EXPECT_THAT(refused_create(R"({"spec": {"tenant": "t", "image": "i", "resources": {"memory": 1}}})"),
                HasSubstr(R"(spec.resources.memory: unknown field; did you mean "memory_mib"?)"));
}

// A spec without its envelope is a likely slip: the answer must show the way.
TEST(CreateRequest, says_that_the_spec_is_missing) {
    EXPECT_THAT(refused_create(R"({"tenant": "t", "image": "i"})"),
                AllOf(HasSubstr("spec: is required"), HasSubstr("tenant: unknown field")));
    EXPECT_EQ(refused_create(R"({"spec": []})"), "spec: must be an object");
    EXPECT_EQ(refused_create("[]"), "the document must be an object");
    EXPECT_THAT(refused_create(""), HasSubstr("not valid JSON"));
}

TEST(CreateRequest, refuses_nul_anywhere) {
    EXPECT_EQ(refused_create(R"({"spec": {"tenant": "t", "image": "i", "env": {"A": "x\u0000"}}})"),
              "spec.env.A: must not contain NUL");
}

TEST(CreateRequest, keeps_to_the_deployments_own_limits) {
    EXPECT_THAT(refused_create(R"({"spec": {"tenant": "t", "image": "i", "ttl_seconds": 86401}})"),
                HasSubstr("spec.ttl_seconds: "));
    EXPECT_EQ(refused_create(R"({"spec": {"tenant": "t", "image": "i", "ttl_seconds": 86400}})"), "accepted");
}

// A message goes to logs and terminals; the value of a variable may not.
TEST(CreateRequest, never_repeats_a_value) {
    EXPECT_THAT(
        refused_create(R"({"spec": {"tenant": "t", "image": "i", "env": {"1BAD": "hunter2", "B": ["hunter2"]}}})"),
        Not(HasSubstr("hunter2")));
}

TEST(ExecRequest, survives_the_way_from_client_to_server) {
    domain::Command command{.argv = {"sh", "", "$(x)", "a\nb"},
                            .cwd = "/workspace",
                            .env = {{"TOKEN", "v"}},
                            .timeout_seconds = 5,
                            .stdin_bytes = std::string("bytes\0\xff", 7)};

    auto read = read_exec_request(exec_request(command));

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, command);
}

TEST(ExecRequest, takes_input_as_text_or_as_bytes) {
    auto text = read_exec_request(R"({"command": {"argv": ["cat"], "stdin": "a\u0000b"}})");
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(text->stdin_bytes, std::string("a\0b", 3));

    EXPECT_THAT(refused_exec(R"({"command": {"argv": ["cat"], "stdin": "a", "stdin_base64": "YQ=="}})"),
                HasSubstr("command.stdin_base64: "));
    EXPECT_THAT(refused_exec(R"({"command": {"argv": ["cat"], "stdin_base64": "YQ"}})"),
                HasSubstr("command.stdin_base64: "));
}

TEST(ExecRequest, refuses_what_cannot_be_run) {
    EXPECT_THAT(refused_exec(R"({"command": {"argv": []}})"), HasSubstr("command.argv"));
    EXPECT_THAT(refused_exec(R"({"command": {}})"), HasSubstr("command.argv"));
    EXPECT_THAT(refused_exec(R"({"command": {"argv": [" "]}})"), HasSubstr("command.argv[0]"));
    EXPECT_THAT(refused_exec(R"({"command": {"argv": "ls"}})"), HasSubstr("command.argv"));
    EXPECT_THAT(refused_exec(R"({"command": {"argv": ["a", "b\u0000"]}})"), HasSubstr("command.argv[1]"));
    EXPECT_THAT(refused_exec(R"({"command": {"argv": ["a"], "timeout_seconds": 86401}})"),
                HasSubstr("command.timeout_seconds"));
    EXPECT_THAT(refused_exec(R"({"argv": ["a"]})"), HasSubstr("command: is required"));
}

TEST(ExtendRequest, takes_thirty_seconds_up_to_the_most_allowed) {
    EXPECT_EQ(read_extend_request(R"({"ttl_seconds": 30})", 60), 30);
    EXPECT_EQ(read_extend_request(R"({"ttl_seconds": 60})", 60), 60);
    EXPECT_EQ(refusal(read_extend_request(R"({"ttl_seconds": 61})", 60)),
              "ttl_seconds: must be an integer from 30 to 60");
    EXPECT_EQ(refusal(read_extend_request(R"({"ttl": 61})", 60)),
              "ttl_seconds: is required: an integer from 30 to 60; ttl: unknown field; did you mean \"ttl_seconds\"?");
}

TEST(DrainRequest, is_one_boolean) {
    EXPECT_EQ(read_drain_request(R"({"drain": true})"), true);
    EXPECT_EQ(read_drain_request(R"({"drain": false})"), false);
    EXPECT_THAT(refusal(read_drain_request("{}")), HasSubstr("drain: is required"));
}

TEST(ExposureRequest, is_the_exposure_itself) {
    EXPECT_EQ(read_exposure_request(R"({"container_port": 8080})").value(), (domain::Exposure{.container_port = 8080}));
    EXPECT_THAT(refusal(read_exposure_request(R"({"container_port": 8080, "protocol": "tcp"})")),
                HasSubstr("protocol: "));
    EXPECT_THAT(refusal(read_exposure_request(R"({"container_port": 8080, "authenticated": true})")),
                HasSubstr("authenticated: "));
    EXPECT_THAT(refusal(read_exposure_request(R"({"port": 8080})")), HasSubstr("port: unknown field"));
    EXPECT_EQ(refusal(read_exposure_request("7")), "the document must be an object");
}

TEST(EmptyRequest, is_nothing_or_an_empty_object) {
    EXPECT_TRUE(read_empty_request(""));
    EXPECT_TRUE(read_empty_request(" \n"));
    EXPECT_TRUE(read_empty_request("{}"));
    EXPECT_EQ(refusal(read_empty_request(R"({"force": true})")), "force: unknown field");
    EXPECT_EQ(refusal(read_empty_request("[]")), "the document must be an object");
}

}  // namespace
}  // namespace sandbox::api
