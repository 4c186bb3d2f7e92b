#pragma once

#include <string>
#include <string_view>

#include <sandbox/domain/ids.hpp>

namespace sandbox::runtime::docker {

/// Labels of all that is made for a sandbox. The first alone proves that it is ours: older workers set no other.
inline constexpr std::string_view kIdLabel = "sandbox.dev/id";
inline constexpr std::string_view kTenantLabel = "sandbox.dev/tenant";
inline constexpr std::string_view kNodeLabel = "sandbox.dev/node";
/// What the sandbox was given, so that a worker that starts again knows what is free.
inline constexpr std::string_view kResourcesLabel = "sandbox.dev/resources";
/// On what serves all sandboxes of a host: the guest's volume, the networks, containers that only fill a volume.
inline constexpr std::string_view kRoleLabel = "sandbox.dev/role";

inline constexpr std::string_view kGuestDirectory = "/.sandbox";
inline constexpr std::string_view kGuestProgram = "/.sandbox/sandbox-guest";
inline constexpr std::string_view kWorkspace = "/workspace";

inline constexpr std::string_view kOpenNetwork = "sandbox-open";

[[nodiscard]] inline std::string container_name(const domain::SandboxId& id) {
    return "sandbox-" + id.text();
}
[[nodiscard]] inline std::string workspace_volume_name(const domain::SandboxId& id) {
    return "sandbox-" + id.text() + "-workspace";
}

}  // namespace sandbox::runtime::docker
