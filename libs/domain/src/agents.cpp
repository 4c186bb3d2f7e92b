#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include <sandbox/domain/agents.hpp>

#include "json_fields.hpp"

namespace sandbox::domain {

namespace {

AgentProfile profile(std::string name, std::string display_name, std::optional<std::string> image,
                     std::string_view repository) {
    AgentProfile made;
    made.executable = name;
    made.name = std::move(name);
    made.display_name = std::move(display_name);
    made.default_image = std::move(image);
    made.homepage = "https://github.com/" + std::string(repository);
    return made;
}

}  // namespace

std::span<const AgentProfile> agent_profiles() {
    static const std::array profiles{
        profile("codex", "OpenAI Codex", "sandbox-agent-codex:local", "openai/codex"),
        profile("claude", "Claude Code", "sandbox-agent-claude:local", "anthropics/claude-code"),
        profile("opencode", "OpenCode", "sandbox-agent-opencode:local", "anomalyco/opencode"),
        profile("pi", "Pi", "sandbox-agent-pi:local", "badlogic/pi-mono"),
        profile("aider", "Aider", "paulgauthier/aider:latest", "Aider-AI/aider"),
        profile("goose", "Goose", "ghcr.io/block/goose:latest", "block/goose"),
        profile("commandcode", "CommandCode", std::nullopt, "bas3line"),
    };
    return profiles;
}

const AgentProfile* find_agent(std::string_view name) {
    const auto profiles = agent_profiles();
    const auto found = std::ranges::find(profiles, name, &AgentProfile::name);
    return found == profiles.end() ? nullptr : &*found;
}

void to_json(nlohmann::json& json, const AgentProfile& value) {
    json = {{"name", value.name},
            {"display_name", value.display_name},
            {"executable", value.executable},
            {"default_image", or_null(value.default_image)},
            {"default_args", value.default_args},
            {"env_passthrough", value.env_passthrough},
            {"homepage", value.homepage}};
}

}  // namespace sandbox::domain
