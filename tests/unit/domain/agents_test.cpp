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

}  // namespace
}  // namespace sandbox::domain
