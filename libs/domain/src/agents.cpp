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

SandboxSpec agent_spec(const AgentProfile& profile, std::string image, std::map<std::string, std::string> env) {
    SandboxSpec spec;
    spec.image = std::move(image);
    spec.resources = {.cpu_millis = 2000, .memory_mib = 4096, .disk_mib = 30720, .pids = 512};
    spec.network = Network::restricted_egress;
    spec.sensitivity = Sensitivity::confidential;
    spec.signals.untrusted_repository = true;
    spec.signals.executes_generated_code = true;
    spec.signals.needs_secrets = true;
    spec.labels = {{"sandbox.dev/agent", profile.name}};
    spec.agent = profile.name;
    spec.env = std::move(env);
    spec.env.emplace("HOME", "/workspace/.home");
    spec.env.emplace("XDG_CACHE_HOME", "/workspace/.cache");
    spec.env.emplace("XDG_CONFIG_HOME", "/workspace/.config");
    spec.env.emplace("XDG_DATA_HOME", "/workspace/.local/share");
    return spec;
}

Command agent_command(const AgentProfile& profile, std::span<const std::string> arguments,
                      std::int64_t timeout_seconds) {
    Command command;
    command.argv = {profile.executable};
    command.argv.insert(command.argv.end(), profile.default_args.begin(), profile.default_args.end());
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.cwd = "/workspace";
    command.timeout_seconds = timeout_seconds;
    return command;
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
