#include <sandbox/domain/agents.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

TEST(Agents, are_listed_in_a_fixed_order_and_found_by_name) {
    std::vector<std::string> names;
    for (const auto& profile : agent_profiles()) names.push_back(profile.name);

    EXPECT_EQ(names, (std::vector<std::string>{"codex", "claude", "opencode", "pi", "aider", "goose", "commandcode"}));
    for (const auto& name : names) EXPECT_EQ(find_agent(name)->executable, name);
    EXPECT_EQ(find_agent("nobody"), nullptr);
}

TEST(Agents, carry_every_field_of_a_profile_and_null_for_no_image) {
    EXPECT_EQ(nlohmann::json(*find_agent("claude")), json_of(R"({
        "name": "claude", "display_name": "Claude Code", "executable": "claude",
        "default_image": "sandbox-agent-claude:local", "default_args": [], "env_passthrough": [],
        "homepage": "https://github.com/anthropics/claude-code"})"));
    EXPECT_EQ(nlohmann::json(*find_agent("commandcode"))["default_image"], nullptr);
}

// An agent runs code that nobody has read, next to credentials: placement and isolation have to know.
TEST(Agents, run_in_a_sandbox_that_counts_as_risky_with_their_folders_in_the_workspace) {
    const auto spec = agent_spec(*find_agent("codex"), "an-image:local", {{"HOME", "/root"}, {"KEY", "v"}});

    EXPECT_EQ(spec.resources, (Resources{.cpu_millis = 2000, .memory_mib = 4096, .disk_mib = 30720, .pids = 512}));
    EXPECT_EQ(spec.network, Network::restricted_egress);
    EXPECT_EQ(spec.sensitivity, Sensitivity::confidential);
    EXPECT_EQ(spec.signals, (Signals{true, true, true, false, false}));
    EXPECT_EQ(spec.agent, "codex");
    EXPECT_EQ(spec.labels.at("sandbox.dev/agent"), "codex");
    EXPECT_EQ(spec.env, (std::map<std::string, std::string>{{"HOME", "/root"},
                                                            {"KEY", "v"},
                                                            {"XDG_CACHE_HOME", "/workspace/.cache"},
                                                            {"XDG_CONFIG_HOME", "/workspace/.config"},
                                                            {"XDG_DATA_HOME", "/workspace/.local/share"}}));
    EXPECT_TRUE(spec.command.empty());
}

TEST(Agents, are_called_with_their_arguments_in_the_workspace) {
    const std::vector<std::string> arguments{"-p", "a b"};
    const auto command = agent_command(*find_agent("claude"), arguments, 900);

    EXPECT_EQ(command.argv, (std::vector<std::string>{"claude", "-p", "a b"}));
    EXPECT_EQ(command.cwd, "/workspace");
    EXPECT_EQ(command.timeout_seconds, 900);
}

}  // namespace
}  // namespace sandbox::domain
