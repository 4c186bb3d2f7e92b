#include <limits>

#include <nlohmann/json.hpp>

#include <sandbox/domain/node.hpp>

#include "json_fields.hpp"
#include "resources.hpp"

namespace sandbox::domain {

namespace {

constexpr std::int64_t kMostSandboxes = kMostOfAResource;

enum class HeldState { running, exited };
constexpr Names<HeldState, 2> kHeldStateNames{{{"running", HeldState::running}, {"exited", HeldState::exited}}};

Resources read_quantities(const nlohmann::json& json, const std::string& path, Problems& problems) {
    return read_resources(json, path, problems, UnknownFields::ignore);
}

RuntimeInfo read_runtime(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    return {reader.optional_string("name").value_or(""), reader.optional_string("version").value_or("")};
}

InFlight read_in_flight(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    InFlight value;
    read_id(reader, "assignment_id", value.assignment_id);
    value.attempt = reader.integer("attempt", 0, std::numeric_limits<std::int64_t>::max());
    value.phase = reader.optional_string("phase").value_or("");
    return value;
}

InventoryItem read_inventory_item(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    InventoryItem value;
    read_id(reader, "sandbox_id", value.sandbox_id);
    value.running = reader.enumeration<HeldState>("state", kHeldStateNames, std::nullopt) == HeldState::running;
    value.exit_code = reader.optional_integer("exit_code", std::numeric_limits<std::int32_t>::min(),
                                              std::numeric_limits<std::int32_t>::max());
    value.oom_killed = reader.boolean_or("oom_killed", false);
    value.startup = optional_object(reader, "startup", read_startup);
    return value;
}

float pressure_or(ObjectReader& reader, float otherwise) {
    const auto value = reader.optional_number("pressure", 0.0, 1.0);
    return value ? static_cast<float>(*value) : otherwise;
}

void to_json(nlohmann::json& json, const InFlight& value) {
    json = {{"assignment_id", value.assignment_id.text()}, {"attempt", value.attempt}, {"phase", value.phase}};
}

void to_json(nlohmann::json& json, const InventoryItem& value) {
    json = {{"sandbox_id", value.sandbox_id.text()},
            {"state", name_in(kHeldStateNames, value.running ? HeldState::running : HeldState::exited)},
            {"exit_code", or_null(value.exit_code)},
            {"oom_killed", value.oom_killed},
            {"startup", or_null(value.startup)}};
}

template <class T>
nlohmann::json array_or_null(const std::optional<std::vector<T>>& items) {
    if (!items) return nullptr;
    auto array = nlohmann::json::array();
    for (const auto& item : *items) to_json(array.emplace_back(), item);
    return array;
}

}  // namespace

void to_json(nlohmann::json& json, const Capacity& value) {
    json = {{"total", value.total},
            {"available", value.available},
            {"max_sandboxes", value.max_sandboxes},
            {"running_sandboxes", value.running_sandboxes}};
}

Capacity read_capacity(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Capacity value;
    value.total = required_object(reader, "total", read_quantities);
    value.available = required_object(reader, "available", read_quantities);
    value.max_sandboxes = reader.optional_integer("max_sandboxes", 0, kMostSandboxes).value_or(0);
    value.running_sandboxes = reader.optional_integer("running_sandboxes", 0, kMostSandboxes).value_or(0);
    return value;
}

void to_json(nlohmann::json& json, const Node& value) {
    auto tiers = nlohmann::json::array();
    for (const auto tier : value.supported_tiers) tiers.push_back(to_text(tier));
    nlohmann::json runtime = nullptr;
    if (value.runtime) runtime = {{"name", value.runtime->name}, {"version", value.runtime->version}};
    json = {{"id", value.id.text()},
            {"name", value.name},
            {"region", value.region},
            {"zone", value.zone},
            {"labels", value.labels},
            {"capacity", value.capacity},
            {"supported_tiers", std::move(tiers)},
            {"warm_images", value.warm_images},
            {"pressure", short_number(value.pressure)},
            {"draining", value.draining},
            {"supports_http_tunnels", value.supports_http_tunnels},
            {"last_seen", format_time(value.last_seen)},
            {"runtime", std::move(runtime)},
            {"version", or_null(value.version)},
            {"incarnation", or_null(value.incarnation)},
            {"features", value.features},
            {"edge", or_null(value.edge)}};
}

Node read_node(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Node value;
    read_id(reader, "id", value.id);
    value.name = reader.string("name");
    value.region = reader.string("region");
    value.zone = reader.string("zone");
    value.labels = reader.string_map("labels");
    value.capacity = required_object(reader, "capacity", read_capacity);
    for (const auto& element : reader.array("supported_tiers")) {
        const auto* text = element.value.get_ptr<const std::string*>();
        const auto known =
            std::ranges::find_if(kTierNames, [&](const auto& entry) { return text && entry.first == *text; });
        if (known == kTierNames.end())
            problems.add(element.path, "must be one of container, microvm");
        else
            value.supported_tiers.push_back(known->second);
    }
    value.warm_images = reader.strings("warm_images");
    value.pressure = pressure_or(reader, 0);
    value.draining = reader.boolean_or("draining", false);
    value.supports_http_tunnels = reader.boolean_or("supports_http_tunnels", false);
    value.last_seen = read_time(reader, "last_seen");
    value.runtime = optional_object(reader, "runtime", read_runtime);
    value.version = reader.optional_string("version");
    read_id(reader, "incarnation", value.incarnation);
    value.features = reader.strings("features");
    value.edge = reader.optional_string("edge");
    return value;
}

void to_json(nlohmann::json& json, const Heartbeat& value) {
    json = {{"capacity", value.capacity},
            {"pressure", short_number(value.pressure)},
            {"warm_images", value.warm_images},
            {"in_flight", array_or_null(value.in_flight)},
            {"inventory", array_or_null(value.inventory)}};
}

Heartbeat read_heartbeat(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Heartbeat value;
    value.capacity = required_object(reader, "capacity", read_capacity);
    if (reader.required_field("pressure")) value.pressure = pressure_or(reader, 0);
    if (reader.required_field("warm_images")) value.warm_images = reader.strings("warm_images");
    if (reader.has("in_flight")) value.in_flight = object_array(reader, "in_flight", read_in_flight);
    if (reader.has("inventory")) value.inventory = object_array(reader, "inventory", read_inventory_item);
    return value;
}

}  // namespace sandbox::domain
