#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/domain/spec.hpp>

namespace sandbox::domain {

/// A coding agent that can be run in a sandbox by name.
struct AgentProfile {
    std::string name;
    std::string display_name;
    std::string executable;
    std::optional<std::string> default_image;
    std::vector<std::string> default_args;
    std::vector<std::string> env_passthrough;
    std::string homepage;
};

/// The built-in profiles, in the order in which they are listed.
[[nodiscard]] std::span<const AgentProfile> agent_profiles();
/// nullptr when there is no such profile.
[[nodiscard]] const AgentProfile* find_agent(std::string_view name);

/// The sandbox of an agent's run: what it may take, how it counts for placement, its folders and its label. Tenant,
/// network (restricted) and TTL are left to the caller. `env` wins over the folders.
[[nodiscard]] SandboxSpec agent_spec(const AgentProfile& profile, std::string image,
                                     std::map<std::string, std::string> env);

/// The agent with these arguments, in /workspace.
[[nodiscard]] Command agent_command(const AgentProfile& profile, std::span<const std::string> arguments,
                                    std::int64_t timeout_seconds);

void to_json(nlohmann::json& json, const AgentProfile& value);

}  // namespace sandbox::domain
