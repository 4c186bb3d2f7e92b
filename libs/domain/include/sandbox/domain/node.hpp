#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::domain {

struct Capacity {
    Resources total{0, 0, 0, 0};
    Resources available{0, 0, 0, 0};
    std::int64_t max_sandboxes = 0;  // 0: no limit
    std::int64_t running_sandboxes = 0;

    bool operator==(const Capacity&) const = default;
};

struct RuntimeInfo {
    std::string name;
    std::string version;
};

/// One worker's host, as it registers itself and as the controller shows it.
struct Node {
    NodeId id;
    std::string name;
    std::string region;
    std::string zone;
    std::map<std::string, std::string> labels;
    Capacity capacity;
    std::vector<Tier> supported_tiers;
    std::vector<std::string> warm_images;
    float pressure = 0;
    bool draining = false;
    bool supports_http_tunnels = false;
    Timestamp last_seen;
    std::optional<RuntimeInfo> runtime;
    std::optional<std::string> version;
    std::optional<Incarnation> incarnation;
    std::vector<std::string> features;
    std::optional<std::string> edge;
};

/// Work that a worker is at: renews that lease.
struct InFlight {
    AssignmentId assignment_id;
    std::int64_t attempt = 0;
    std::string phase;
};

/// One sandbox that a runtime holds.
struct InventoryItem {
    SandboxId sandbox_id;
    bool running = true;  // "running" or "exited"
    std::optional<std::int64_t> exit_code;
    bool oom_killed = false;
    std::optional<Startup> startup;
    /// What it was given on this host, where the runtime can tell: for the worker's own sums after a restart. Not on
    /// the wire.
    std::optional<Resources> resources;
};

struct Heartbeat {
    Capacity capacity;
    float pressure = 0;
    std::vector<std::string> warm_images;
    /// Absent from an older worker, which then renews all its leases.
    std::optional<std::vector<InFlight>> in_flight;
    std::optional<std::vector<InventoryItem>> inventory;
};

void to_json(nlohmann::json& json, const Capacity& value);
void to_json(nlohmann::json& json, const Node& value);
void to_json(nlohmann::json& json, const Heartbeat& value);
// From peers of any version: unknown fields are ignored.
[[nodiscard]] Capacity read_capacity(const nlohmann::json& json, const std::string& path, Problems& problems);
[[nodiscard]] Node read_node(const nlohmann::json& json, const std::string& path, Problems& problems);
[[nodiscard]] Heartbeat read_heartbeat(const nlohmann::json& json, const std::string& path, Problems& problems);

}  // namespace sandbox::domain
