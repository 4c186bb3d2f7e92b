#include <fstream>

#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

/// Profiles with an image that has no agent in it. The real agents are run by tests/e2e/agents/images.sh.
class Agent : public CliTest {};

TEST_F(Agent, gets_the_sandbox_that_its_profile_describes) {
    const auto document =
        json({"agent", "run", "claude", "--image", kImage, "--network", "deny", "--env", "KEY=value"});
    const auto& spec = document["sandbox"]["spec"];
    owns(document["sandbox"]["id"]);

    EXPECT_EQ(spec["agent"], "claude");
    EXPECT_EQ(spec["labels"], (nlohmann::json{{"sandbox.dev/agent", "claude"}}));
    EXPECT_EQ(spec["resources"],
              (nlohmann::json{{"cpu_millis", 2000}, {"memory_mib", 4096}, {"disk_mib", 30720}, {"pids", 512}}));
    EXPECT_EQ(spec["sensitivity"], "confidential");
    EXPECT_EQ(spec["command"], nlohmann::json::array());
    EXPECT_EQ(spec["env"], (nlohmann::json{{"HOME", "/workspace/.home"},
                                           {"XDG_CACHE_HOME", "/workspace/.cache"},
                                           {"XDG_CONFIG_HOME", "/workspace/.config"},
                                           {"XDG_DATA_HOME", "/workspace/.local/share"},
                                           {"KEY", "value"}}));
    EXPECT_TRUE(document["agent_command"].is_null());
    EXPECT_EQ(document["operation"]["state"], "succeeded");
}

TEST_F(Agent, without_arguments_is_provisioned_with_the_next_line_to_type) {
    const auto ended = run({"agent", "run", "codex", "--image", kImage, "--network", "deny"});
    const auto id = ended.out.substr(ended.out.size() - 37, 36);
    owns(id);

    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("sandbox exec " + id + " --cwd /workspace -- codex\n"));
}

// The arguments run through exec: output, status and operation are those of an exec.
TEST_F(Agent, with_arguments_runs_through_exec) {
    const auto document =
        json({"agent", "run", "claude", "--image", kImage, "--network", "deny", "--", "-p", "[a,b]"}, 127);
    owns(document["sandbox"]["id"]);

    EXPECT_EQ(document["create_operation"]["state"], "succeeded");
    EXPECT_EQ(document["agent_operation"]["argv"], (nlohmann::json{"claude", "-p", "[a,b]"}));
    EXPECT_EQ(document["agent_operation"]["output"]["exit_code"], 127);
}

TEST_F(Agent, returns_at_once_when_it_is_not_to_wait) {
    const auto document = json({"agent", "run", "pi", "--image", kImage, "--network", "deny", "--no-wait"});
    owns(document["sandbox"]["id"]);

    EXPECT_EQ(document.size(), 2U);
    EXPECT_EQ(document["operation"]["kind"], "create");
}

// Credentials come from a file that only the user can read, and --env wins over it.
TEST_F(Agent, is_given_the_variables_of_a_file) {
    const auto path = home_.path() + "/provider.env";
    std::ofstream(path) << "# for claude\nANTHROPIC_API_KEY=k=1\nMODEL=small\n";
    const auto document = json({"agent", "run", "claude", "--image", kImage, "--network", "deny", "--env-file", path,
                                "--env", "MODEL=large", "--no-wait"});
    owns(document["sandbox"]["id"]);

    EXPECT_EQ(document["sandbox"]["spec"]["env"]["ANTHROPIC_API_KEY"], "k=1");
    EXPECT_EQ(document["sandbox"]["spec"]["env"]["MODEL"], "large");
}

TEST_F(Agent, that_there_is_not_or_has_no_image_is_an_error_of_usage) {
    const auto unknown = run({"agent", "run", "nobody"});
    EXPECT_EQ(unknown.status, 2);
    EXPECT_THAT(unknown.err, HasSubstr("codex, claude, opencode, pi, aider, goose, commandcode"));

    const auto without = run({"agent", "run", "commandcode"});
    EXPECT_EQ(without.status, 2);
    EXPECT_THAT(without.err, HasSubstr("--image"));
}

// The image must be there. (How to build one of the project's own is a unit test's: they may all be here.)
TEST_F(Agent, names_the_image_that_is_missing) {
    const auto ended = run({"agent", "run", "claude", "--network", "deny", "--image", "sandbox-agent-nobody:local"});

    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("sandbox-agent-nobody:local is not on this host"));
    EXPECT_THAT(ended.err, testing::Not(HasSubstr("build-agent-image.sh")));
}

}  // namespace
}  // namespace sandbox::test
