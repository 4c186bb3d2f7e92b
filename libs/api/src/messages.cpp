#include <limits>

#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>

#include "body.hpp"

namespace sandbox::api {
namespace {

using nlohmann::json;

constexpr std::string_view kBytes[] = {"output.stdout", "output.stderr", "startup.tail", "command.stdin"};
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

template <class T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

template <class I>
json texts(const std::vector<I>& ids) {
    auto array = json::array();
    for (const auto& id : ids) array.push_back(id.text());
    return array;
}

/// Reads an answer whose fields `read(reader)` asks for; a newer server's other fields are ignored.
template <class Read>
auto read_answer(std::string_view body, Read read) {
    return read_body(
        body,
        [&](const json& value, Problems& problems) {
            ObjectReader reader(value, "", problems, UnknownFields::ignore);
            return read(reader);
        },
        kBytes);
}

Health::Tunnels read_tunnels(const json& value, const std::string& path, Problems& problems) {
    ObjectReader reader(value, path, problems, UnknownFields::ignore);
    Health::Tunnels tunnels;
    tunnels.enabled = reader.boolean_or("enabled", false);
    tunnels.base_domain = reader.optional_string("base_domain");
    tunnels.public_scheme = reader.optional_string("public_scheme");
    tunnels.protocols = reader.strings("protocols");
    tunnels.local_relay_enabled = reader.boolean_or("local_relay_enabled", false);
    tunnels.local_relay_url = reader.optional_string("local_relay_url");
    return tunnels;
}

EventLag read_lag(const json& value, const std::string& path, Problems& problems) {
    ObjectReader reader(value, path, problems, UnknownFields::ignore);
    return {reader.optional_integer("unpublished", 0, kMost).value_or(0),
            reader.optional_integer("oldest_seconds", 0, kMost).value_or(0)};
}

LoggedEvent read_logged(const json& value, const std::string& path, Problems& problems) {
    LoggedEvent logged;
    logged.event = domain::read_event(value, path, problems);
    if (!value.is_object()) return logged;  // said already
    ObjectReader reader(value, path, problems, UnknownFields::ignore);
    logged.sequence = static_cast<std::uint64_t>(reader.integer("sequence", 0, kMost));
    return logged;
}

/// A time that is only shown: one that can't be read is worth no failure.
Timestamp time_or_epoch(ObjectReader& reader, std::string_view name) {
    return parse_time(reader.optional_string(name).value_or("")).value_or(Timestamp{});
}

}  // namespace

void to_json(json& out, const Health& value) {
    const auto& tunnels = value.tunnels;
    out = {{"status", value.status},
           {"version", value.version},
           {"store", value.store},
           {"now", format_time(value.now)},
           {"tunnels",
            {{"enabled", tunnels.enabled},
             {"base_domain", or_null(tunnels.base_domain)},
             {"public_scheme", or_null(tunnels.public_scheme)},
             {"protocols", tunnels.protocols},
             {"local_relay_enabled", tunnels.local_relay_enabled},
             {"local_relay_url", or_null(tunnels.local_relay_url)}}},
           {"events", nullptr}};
    if (value.events)
        out["events"] = {{"unpublished", value.events->unpublished}, {"oldest_seconds", value.events->oldest_seconds}};
}

void to_json(json& out, const SandboxAndOperation& value) {
    out = {{"sandbox", value.sandbox}, {"operation", value.operation}};
}

void to_json(json& out, const SandboxList& value) {
    out = {{"sandboxes", value.sandboxes}, {"next_cursor", or_null(value.next_cursor)}};
}

void to_json(json& out, const OperationList& value) {
    out = {{"operations", value.operations}, {"next_cursor", or_null(value.next_cursor)}};
}

void to_json(json& out, const LoggedEvent& value) {
    out = value.event;
    out["sequence"] = value.sequence;
}

void to_json(json& out, const EventList& value) {
    out = {{"events", value.events}, {"next", value.next}};
}

void to_json(json& out, const RegisterAnswer& value) {
    out = {{"node_id", value.node_id.text()},
           {"heartbeat_interval_seconds", value.heartbeat_interval_seconds},
           {"max_output_bytes", or_null(value.max_output_bytes)}};
}

void to_json(json& out, const HeartbeatAnswer& value) {
    out = {{"ok", true}, {"remove", texts(value.remove)}, {"cancel", texts(value.cancel)}};
}

void to_json(json& out, const LeaseAnswer& value) {
    out = {{"assignments", value.assignments}, {"cancel", texts(value.cancel)}};
}

Result<Health> read_health(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        Health health;
        health.status = reader.string("status");
        health.version = reader.optional_string("version").value_or("");
        health.store = reader.optional_string("store").value_or("");
        health.now = time_or_epoch(reader, "now");
        if (const auto* field = reader.field("tunnels"))
            health.tunnels = read_tunnels(*field, "tunnels", reader.problems());
        if (const auto* field = reader.field("events")) health.events = read_lag(*field, "events", reader.problems());
        return health;
    });
}

Result<SandboxAndOperation> read_sandbox_and_operation(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        return SandboxAndOperation{required(reader, "sandbox", domain::read_sandbox),
                                   required(reader, "operation", domain::read_operation)};
    });
}

Result<domain::Sandbox> read_sandbox_answer(std::string_view body) {
    return read_body(
        body, [](const json& value, Problems& problems) { return domain::read_sandbox(value, "", problems); }, kBytes);
}

Result<domain::Operation> read_operation_answer(std::string_view body) {
    return read_answer(body,
                       [](ObjectReader& reader) { return required(reader, "operation", domain::read_operation); });
}

Result<SandboxList> read_sandbox_list(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        (void)reader.required_field("sandboxes");
        return SandboxList{items(reader, "sandboxes", domain::read_sandbox), reader.optional_string("next_cursor")};
    });
}

Result<OperationList> read_operation_list(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        (void)reader.required_field("operations");
        return OperationList{items(reader, "operations", domain::read_operation),
                             reader.optional_string("next_cursor")};
    });
}

Result<EventList> read_event_list(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        (void)reader.required_field("events");
        return EventList{items(reader, "events", read_logged),
                         static_cast<std::uint64_t>(reader.integer("next", 0, kMost))};
    });
}

Result<LoggedEvent> read_logged_event(std::string_view data) {
    return read_body(data, [](const json& value, Problems& problems) { return read_logged(value, "", problems); });
}

Result<std::vector<domain::Node>> read_node_list(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        (void)reader.required_field("nodes");
        return items(reader, "nodes", domain::read_node);
    });
}

Result<domain::Node> read_node_answer(std::string_view body) {
    return read_body(body,
                     [](const json& value, Problems& problems) { return domain::read_node(value, "", problems); });
}

Result<RegisterAnswer> read_register_answer(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        RegisterAnswer answer;
        answer.node_id = required(reader, "node_id", read_id<domain::NodeId>);
        answer.heartbeat_interval_seconds = reader.integer("heartbeat_interval_seconds", 1, 86400);
        answer.max_output_bytes = reader.optional_integer("max_output_bytes", 0, kMost);
        return answer;
    });
}

Result<HeartbeatAnswer> read_heartbeat_answer(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        return HeartbeatAnswer{items(reader, "remove", read_id<domain::SandboxId>),
                               items(reader, "cancel", read_id<domain::OperationId>)};
    });
}

Result<LeaseAnswer> read_lease_answer(std::string_view body) {
    return read_answer(body, [](ObjectReader& reader) {
        (void)reader.required_field("assignments");
        return LeaseAnswer{items(reader, "assignments", domain::read_assignment),
                           items(reader, "cancel", read_id<domain::OperationId>)};
    });
}

}  // namespace sandbox::api
