// A daemon that is started wrongly says what is wrong in one sentence and exits with 2, before it touches anything.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace sandbox::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kToken(32, 'a');
const std::string kOtherToken(32, 'b');

struct Refusal {
    std::string name;
    std::vector<std::string> arguments;
    Variables variables;
    std::string file;  // sandbox.toml, when not empty
    std::vector<std::string> says;
};

class RefusedStart : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedStart, is_one_sentence_and_exit_2) {
    const auto& refusal = GetParam();
    TemporaryDirectory directory;
    if (!refusal.file.empty()) std::ofstream(directory.path() + "/sandbox.toml") << refusal.file;
    Start start;
    start.argv = {program("sandboxd")};
    start.argv.insert(start.argv.end(), refusal.arguments.begin(), refusal.arguments.end());
    start.environment = refusal.variables;
    start.environment.emplace("SANDBOX__NODE__STATE_DIR", directory.path() + "/state");
    start.working_directory = directory.path();

    auto ended = run_program(start, std::chrono::seconds(10));

    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    for (const auto& words : refusal.says) EXPECT_THAT(ended.err, HasSubstr(words));
    EXPECT_THAT(ended.err, Not(HasSubstr(kToken)));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedStart,
    testing::Values(
        Refusal{"no_tokens", {}, {}, "", {"server.api_token"}},
        Refusal{"no_node_token", {}, {{"SANDBOX__SERVER__API_TOKEN", kToken}}, "", {"server.node_token"}},
        Refusal{"equal_tokens",
                {},
                {{"SANDBOX__SERVER__API_TOKEN", kToken}, {"SANDBOX__SERVER__NODE_TOKEN", kToken}},
                "",
                {"server.api_token", "differ"}},
        Refusal{"short_token",
                {},
                {{"SANDBOX__SERVER__API_TOKEN", "short"}, {"SANDBOX__SERVER__NODE_TOKEN", kToken}},
                "",
                {"server.api_token", "32"}},
        Refusal{"worker_without_token", {"--role", "worker"}, {}, "", {"node.token"}},
        Refusal{"unknown_key",
                {},
                {},
                "[server]\nbnid = \"127.0.0.1:0\"\n",
                {"server.bnid", "server.bind", "sandbox.toml:2"}},
        Refusal{
            "unknown_variable", {"--dev"}, {{"SANDBOX__SERVER__BNID", "127.0.0.1:0"}}, "", {"SANDBOX__SERVER__BNID"}},
        Refusal{"wrong_type",
                {},
                {},
                "[server]\nheartbeat_interval_seconds = \"ten\"\n",
                {"server.heartbeat_interval_seconds", "integer"}},
        Refusal{"out_of_range",
                {"--dev"},
                {{"SANDBOX__POLICY__MICROVM_RISK_THRESHOLD", "102"}},
                "",
                {"policy.microvm_risk_threshold", "101"}},
        Refusal{"dev_beyond_loopback",
                {"--dev"},
                {{"SANDBOX__SERVER__BIND", "0.0.0.0:0"}},
                "",
                {"server.bind", "loopback"}},
        Refusal{"unauthenticated_beyond_loopback",
                {},
                {{"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"}},
                "",
                {"server.allow_unauthenticated_dev", "loopback"}},
        Refusal{"tunnels",
                {"--dev"},
                {{"SANDBOX__TUNNEL__ENABLED", "true"}, {"SANDBOX__TUNNEL__BASE_DOMAIN", "tunnel.example.com"}},
                "",
                {"tunnel.enabled"}},
        Refusal{"missing_file", {"--config", "/nowhere/sandbox.toml"}, {}, "", {"/nowhere/sandbox.toml"}},
        Refusal{"postgres_without_url", {"--dev"}, {{"SANDBOX__STORE__KIND", "postgres"}}, "", {"store"}},
        Refusal{"external_without_driver", {"--dev"}, {{"SANDBOX__NODE__RUNTIME", "external"}}, "", {"node."}},
        Refusal{"unknown_role", {"--role", "queen"}, {}, "", {"controller, worker or all"}},
        Refusal{"unknown_option", {"--frobnicate"}, {}, "", {"--frobnicate"}},
        Refusal{"bad_bind", {"--dev"}, {{"SANDBOX__SERVER__BIND", "somewhere"}}, "", {"server.bind"}},
        Refusal{"state_directory", {"--dev"}, {{"SANDBOX__NODE__STATE_DIR", "/proc/nowhere"}}, "", {"node.state_dir"}}),
    [](const auto& info) { return info.param.name; });

TEST(CheckConfig, prints_the_effective_configuration_with_secrets_masked) {
    auto ended = run_program({.argv = {program("sandboxd"), "--dev", "--check-config"},
                              .environment = {{"SANDBOX__SERVER__API_TOKEN", kToken},
                                              {"SANDBOX__NODE__STATE_DIR", "/tmp/sandbox-check-config"}}});
    EXPECT_EQ(ended.status, 0);
    EXPECT_THAT(ended.out, HasSubstr("microvm_risk_threshold = 101"));
    EXPECT_THAT(ended.out, Not(HasSubstr(kToken)));
}

TEST(Version, says_version_and_commit_for_every_program) {
    for (const auto* name : {"sandboxd", "sandbox", "sandbox-guest"}) {
        auto ended = run_program({.argv = {program(name), "--version"}});
        EXPECT_EQ(ended.status, 0) << name;
        EXPECT_THAT(ended.out, testing::MatchesRegex(std::string(name) + " 0\\.1\\.0 \\(commit [0-9a-z]+\\)\n"));
    }
}

}  // namespace
}  // namespace sandbox::test
