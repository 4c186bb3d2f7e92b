#include <nlohmann/json.hpp>

#include <sandbox/domain/event.hpp>

namespace sandbox::domain {

void to_json(nlohmann::json& json, const Event& value) {
    json = {{"event_id", value.event_id.text()},
            {"event_type", value.event_type},
            {"tenant", value.tenant},
            {"sandbox_id", value.sandbox_id.text()},
            {"node_id", value.node_id.text()},
            {"timestamp", format_time(value.timestamp)},
            {"attributes", value.attributes}};
}

}  // namespace sandbox::domain
