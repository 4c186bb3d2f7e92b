#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>

namespace sandbox::domain {

/// What happened to a sandbox, for the event log and the bus. Types: sandbox.scheduled, sandbox.stopping,
/// sandbox.operation_succeeded, sandbox.operation_failed, sandbox.lost, sandbox.expired, …
struct Event {
    EventId event_id;
    std::string event_type;
    std::string tenant;
    SandboxId sandbox_id;
    NodeId node_id;
    Timestamp timestamp;
    std::map<std::string, std::string> attributes;
};

void to_json(nlohmann::json& json, const Event& value);

}  // namespace sandbox::domain
