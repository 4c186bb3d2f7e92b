#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::domain {

enum class SandboxState { scheduled, creating, running, stopping, stopped, failed };
inline constexpr Names<SandboxState, 6> kSandboxStateNames{{{"scheduled", SandboxState::scheduled},
                                                            {"creating", SandboxState::creating},
                                                            {"running", SandboxState::running},
                                                            {"stopping", SandboxState::stopping},
                                                            {"stopped", SandboxState::stopped},
                                                            {"failed", SandboxState::failed}}};
[[nodiscard]] inline std::string_view to_text(SandboxState value) {
    return name_in(kSandboxStateNames, value);
}

/// Whether `next` may follow `now`: scheduled → creating → running → stopping → stopped, steps may be left out forward;
/// failed from any of the first four; failed → stopping. Staying where one is does not count as a move (false).
[[nodiscard]] bool may_move(SandboxState now, SandboxState next) noexcept;
/// scheduled to stopping: holds capacity on its node.
[[nodiscard]] bool is_live(SandboxState state) noexcept;

enum class TunnelState { pending, active, removing, failed };
inline constexpr Names<TunnelState, 4> kTunnelStateNames{{{"pending", TunnelState::pending},
                                                          {"active", TunnelState::active},
                                                          {"removing", TunnelState::removing},
                                                          {"failed", TunnelState::failed}}};
[[nodiscard]] inline std::string_view to_text(TunnelState value) {
    return name_in(kTunnelStateNames, value);
}

struct Tunnel {
    TunnelId id;
    std::int64_t container_port = 0;
    Protocol protocol = Protocol::http;
    std::optional<std::string> subdomain;
    std::string hostname;
    std::string public_url;
    bool authenticated = false;
    TunnelState state = TunnelState::pending;
    std::optional<std::string> failure;
};

/// How the start-up command fares.
struct Startup {
    bool running = false;
    std::optional<std::int64_t> exit_code;
    std::string tail;  // the last 4 KiB of its output

    bool operator==(const Startup&) const = default;
};

struct Sandbox {
    SandboxId id;
    SandboxSpec spec;
    SandboxState state = SandboxState::scheduled;
    NodeId node_id;
    Tier isolation = Tier::container;
    int risk_score = 0;
    Timestamp created_at;
    Timestamp updated_at;
    Timestamp expires_at;
    std::optional<std::string> failure;
    std::vector<Tunnel> tunnels;
    std::vector<std::string> placement_reasons;
    std::optional<Startup> startup;
};

void to_json(nlohmann::json& json, const Tunnel& value);
void to_json(nlohmann::json& json, const Startup& value);
void to_json(nlohmann::json& json, const Sandbox& value);
[[nodiscard]] Tunnel read_tunnel(const nlohmann::json& json, const std::string& path, Problems& problems);
[[nodiscard]] Startup read_startup(const nlohmann::json& json, const std::string& path, Problems& problems);
[[nodiscard]] Sandbox read_sandbox(const nlohmann::json& json, const std::string& path, Problems& problems);

}  // namespace sandbox::domain
