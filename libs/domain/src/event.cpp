#include <nlohmann/json.hpp>

#include <sandbox/domain/event.hpp>

#include "json_fields.hpp"

namespace sandbox::domain {

void to_json(nlohmann::json& json, const Event& value) {
    const bool node = is_of_node(value);
    json = {{"event_id", value.event_id.text()},
            {"event_type", value.event_type},
            {"tenant", node ? nlohmann::json(nullptr) : nlohmann::json(value.tenant)},
            {"sandbox_id", node ? nlohmann::json(nullptr) : nlohmann::json(value.sandbox_id.text())},
            {"node_id", value.node_id.text()},
            {"timestamp", format_time(value.timestamp)},
            {"attributes", value.attributes}};
}

Event read_event(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Event value;
    read_id(reader, "event_id", value.event_id);
    value.event_type = reader.string("event_type");
    value.tenant = reader.optional_string("tenant").value_or("");
    std::optional<SandboxId> sandbox;
    read_id(reader, "sandbox_id", sandbox);
    value.sandbox_id = sandbox.value_or(SandboxId{});
    read_id(reader, "node_id", value.node_id);
    value.timestamp = read_time(reader, "timestamp");
    value.attributes = reader.string_map("attributes");
    return value;
}

}  // namespace sandbox::domain
