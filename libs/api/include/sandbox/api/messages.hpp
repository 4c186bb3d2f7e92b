#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/error.hpp>
#include <sandbox/base/time.hpp>
#include <sandbox/domain/assignment.hpp>
#include <sandbox/domain/event.hpp>
#include <sandbox/domain/node.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/validation.hpp>

/// What travels in the API's bodies beside the domain's own shapes. Readers of operator requests take the body's text
/// and refuse unknown fields; readers of worker requests and of answers ignore them. All problems come out together.
/// Errors of all readers: invalid_argument.
namespace sandbox::api {

[[nodiscard]] Result<domain::SandboxSpec> read_create_request(std::string_view body, const domain::SpecLimits& limits);
[[nodiscard]] Result<domain::Command> read_exec_request(std::string_view body);
/// {ttl_seconds}: 30 to max_ttl_seconds.
[[nodiscard]] Result<std::int64_t> read_extend_request(std::string_view body, std::int64_t max_ttl_seconds);
[[nodiscard]] Result<bool> read_drain_request(std::string_view body);
[[nodiscard]] Result<domain::Exposure> read_exposure_request(std::string_view body);
/// An operator request that takes no body: empty or {}.
[[nodiscard]] Result<void> read_empty_request(std::string_view body);

[[nodiscard]] Result<domain::Node> read_register_request(std::string_view body);
[[nodiscard]] Result<domain::Heartbeat> read_heartbeat_request(std::string_view body);
[[nodiscard]] Result<domain::Completion> read_complete_request(std::string_view body);
[[nodiscard]] Result<std::vector<domain::AssignmentId>> read_release_request(std::string_view body);

// The requests' JSON, for clients.
[[nodiscard]] std::string create_request(const domain::SandboxSpec& spec);
[[nodiscard]] std::string exec_request(const domain::Command& command);
[[nodiscard]] std::string register_request(const domain::Node& node);
[[nodiscard]] std::string release_request(const std::vector<domain::AssignmentId>& ids);

/// What waits for the bus.
struct EventLag {
    std::int64_t unpublished = 0;
    std::int64_t oldest_seconds = 0;  // 0 when nothing waits
};

struct Health {
    std::string status = "ok";
    std::string version;
    std::string store;
    Timestamp now;
    struct Tunnels {
        bool enabled = false;
        std::optional<std::string> base_domain;
        std::optional<std::string> public_scheme;
        std::vector<std::string> protocols;
        bool local_relay_enabled = false;
        std::optional<std::string> local_relay_url;
    } tunnels;
    std::optional<EventLag> events;  // of /readyz, when the store could tell
};
void to_json(nlohmann::json& json, const Health& value);

struct SandboxAndOperation {
    domain::Sandbox sandbox;
    domain::Operation operation;
};
struct SandboxList {
    std::vector<domain::Sandbox> sandboxes;
    std::optional<std::string> next_cursor;
};
struct OperationList {
    std::vector<domain::Operation> operations;
    std::optional<std::string> next_cursor;
};
/// An event with its number in the log; one object in JSON.
struct LoggedEvent {
    std::uint64_t sequence = 0;
    domain::Event event;
};
struct EventList {
    std::vector<LoggedEvent> events;
    std::uint64_t next = 0;  // the `after` that goes on from here
};
struct RegisterAnswer {
    domain::NodeId node_id;
    std::int64_t heartbeat_interval_seconds = 10;
    std::optional<std::int64_t> max_output_bytes;
};
struct HeartbeatAnswer {
    std::vector<domain::SandboxId> remove;
    std::vector<domain::OperationId> cancel;
};
struct LeaseAnswer {
    std::vector<domain::Assignment> assignments;
    std::vector<domain::OperationId> cancel;
};
void to_json(nlohmann::json& json, const SandboxAndOperation& value);
void to_json(nlohmann::json& json, const SandboxList& value);
void to_json(nlohmann::json& json, const OperationList& value);
void to_json(nlohmann::json& json, const LoggedEvent& value);
void to_json(nlohmann::json& json, const EventList& value);
void to_json(nlohmann::json& json, const RegisterAnswer& value);
void to_json(nlohmann::json& json, const HeartbeatAnswer& value);
void to_json(nlohmann::json& json, const LeaseAnswer& value);

// Readers of answers, for clients: unknown fields ignored, fields that older controllers lack defaulted.
[[nodiscard]] Result<Health> read_health(std::string_view body);
[[nodiscard]] Result<SandboxAndOperation> read_sandbox_and_operation(std::string_view body);
[[nodiscard]] Result<domain::Sandbox> read_sandbox_answer(std::string_view body);
/// {"operation": …}
[[nodiscard]] Result<domain::Operation> read_operation_answer(std::string_view body);
[[nodiscard]] Result<SandboxList> read_sandbox_list(std::string_view body);
[[nodiscard]] Result<OperationList> read_operation_list(std::string_view body);
[[nodiscard]] Result<std::vector<domain::Node>> read_node_list(std::string_view body);
[[nodiscard]] Result<domain::Node> read_node_answer(std::string_view body);
[[nodiscard]] Result<EventList> read_event_list(std::string_view body);
/// The data of one server-sent event.
[[nodiscard]] Result<LoggedEvent> read_logged_event(std::string_view data);
[[nodiscard]] Result<RegisterAnswer> read_register_answer(std::string_view body);
[[nodiscard]] Result<HeartbeatAnswer> read_heartbeat_answer(std::string_view body);
[[nodiscard]] Result<LeaseAnswer> read_lease_answer(std::string_view body);

}  // namespace sandbox::api
