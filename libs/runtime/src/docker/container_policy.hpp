#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::runtime::docker {

/// Execs of one sandbox that run side by side; past it they wait their turn.
inline constexpr std::int64_t kMaxExecs = 64;
/// Processes that are not the workload's: PID 1 and one supervisor for each exec.
inline constexpr std::int64_t kGuestPids = 1 + kMaxExecs;

/// What the host and the image add to a spec.
struct ContainerPlace {
    domain::SandboxId id;
    domain::NodeId node;
    std::string guest_volume;
    std::string workspace_volume;
    std::string network = "none";  // or the id of a network
    std::optional<std::string> oci_runtime;
    std::int64_t host_cpus = 0;              // 0: not known; the engine refuses a quota over its cores
    std::string image_user;                  // as the image names it
    std::vector<std::string> image_volumes;  // paths that the image declares as volumes
};

/// The text of a resources label, and back; nullopt when it makes no sense.
[[nodiscard]] std::string resources_text(const domain::Resources& resources);
[[nodiscard]] std::optional<domain::Resources> parse_resources(std::string_view text);

/// Labels of everything that is made for one sandbox.
[[nodiscard]] std::map<std::string, std::string> sandbox_labels(const domain::SandboxId& id, const std::string& tenant,
                                                                const domain::NodeId& node);

/// The environment of the sandbox: the spec's, SANDBOX_ID, and HOME unless it is set.
[[nodiscard]] std::map<std::string, std::string> sandbox_env(const domain::SandboxSpec& spec,
                                                             const domain::SandboxId& id);

/// The engine's container-create request. The one place that decides what a sandbox is given; nothing in a spec can
/// add a capability, a mount, a device or a privilege to it.
[[nodiscard]] nlohmann::json container_request(const domain::SandboxSpec& spec, const ContainerPlace& place);

}  // namespace sandbox::runtime::docker
