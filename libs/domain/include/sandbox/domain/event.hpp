#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>

namespace sandbox::domain {

/// What happened to a sandbox, for the event log and the bus. Types: sandbox.scheduled, sandbox.stopping,
/// sandbox.operation_succeeded, sandbox.operation_failed, sandbox.lost, sandbox.expired, … What happens to a node
/// (node.registered, node.stale, node.draining) has no tenant and no sandbox: "" and the nil id, null in JSON.
struct Event {
    EventId event_id;
    std::string event_type;
    std::string tenant;
    SandboxId sandbox_id;
    NodeId node_id;
    Timestamp timestamp;
    std::map<std::string, std::string> attributes;
};

[[nodiscard]] inline bool is_of_node(const Event& event) {
    return event.event_type.starts_with("node.");
}

void to_json(nlohmann::json& json, const Event& value);
/// Unknown fields are ignored: a newer server may have more.
[[nodiscard]] Event read_event(const nlohmann::json& json, const std::string& path, Problems& problems);

}  // namespace sandbox::domain
