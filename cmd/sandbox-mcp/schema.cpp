#include "schema.hpp"

#include <utility>

namespace sandbox::mcp::schema {
namespace {

constexpr std::string_view kUuid = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";

Json typed(std::string_view type, std::string_view description) {
    Json schema{{"type", type}};
    if (!description.empty()) schema["description"] = description;
    return schema;
}

/// An integer that no client has to check.
Json count(std::string_view description = "") {
    return typed("integer", description);
}

Json members(Properties properties) {
    auto json = Json::object();
    for (auto& [name, schema] : properties) json[name] = std::move(schema);
    return json;
}

}  // namespace

Json text(std::string_view description) {
    return typed("string", description);
}

Json one_of(std::string_view description, std::initializer_list<std::string_view> values, std::string_view otherwise) {
    auto schema = typed("string", description);
    schema["enum"] = Json::array();
    for (const auto value : values) schema["enum"].push_back(value);
    if (!otherwise.empty()) schema["default"] = otherwise;
    return schema;
}

Json number(std::string_view description, std::int64_t least, std::int64_t most,
            std::optional<std::int64_t> otherwise) {
    auto schema = typed("integer", description);
    schema["minimum"] = least;
    schema["maximum"] = most;
    if (otherwise) schema["default"] = *otherwise;
    return schema;
}

Json boolean(std::string_view description, std::optional<bool> otherwise) {
    auto schema = typed("boolean", description);
    if (otherwise) schema["default"] = *otherwise;
    return schema;
}

Json texts(std::string_view description) {
    return list(description, typed("string", ""));
}

Json text_map(std::string_view description) {
    auto schema = typed("object", description);
    schema["additionalProperties"] = typed("string", "");
    return schema;
}

Json id(std::string_view description) {
    auto schema = typed("string", description);
    schema["pattern"] = kUuid;
    return schema;
}

Json list(std::string_view description, Json items) {
    auto schema = typed("array", description);
    schema["items"] = std::move(items);
    return schema;
}

Json object(std::string_view description, Properties properties, std::size_t required) {
    auto schema = typed("object", description);
    auto names = Json::array();
    for (std::size_t i = 0; i < required; ++i) names.push_back(properties[i].first);
    schema["properties"] = members(std::move(properties));
    if (!names.empty()) schema["required"] = std::move(names);
    schema["additionalProperties"] = false;
    return schema;
}

Json object(Properties properties, std::size_t required) {
    return object("", std::move(properties), required);
}

Json or_null(std::string_view description) {
    return Json{{"description", description}};
}

Json or_null(std::string_view description, Properties properties) {
    auto schema = or_null(description);
    schema["properties"] = members(std::move(properties));
    return schema;
}

namespace {

/// An object of the API: these members are there, and others may come.
Json shape(std::string_view description, Properties properties) {
    const auto all = properties.size();
    auto schema = object(description, std::move(properties), all);
    schema.erase("additionalProperties");
    return schema;
}

}  // namespace

Json health() {
    Properties tunnels{{"enabled", boolean("")},
                       {"base_domain", or_null("Null when tunnels are off")},
                       {"public_scheme", or_null("http or https; null when tunnels are off")},
                       {"protocols", texts("")},
                       {"local_relay_enabled", boolean("")},
                       {"local_relay_url", or_null("Null when there is no relay")}};
    Properties all{{"status", text("")},
                   {"version", text("")},
                   {"store", one_of("", {"memory", "postgres"})},
                   {"now", text("The server's time, RFC 3339")},
                   {"tunnels", shape("Public tunnels", std::move(tunnels))},
                   {"events", or_null("What waits for the event bus, where the server can tell")}};
    return shape("The server", std::move(all));
}

Json tunnel() {
    Properties all{{"id", id("")},
                   {"container_port", count()},
                   {"protocol", text("")},
                   {"subdomain", or_null("A name that was asked for, or null")},
                   {"hostname", text("")},
                   {"public_url", text("The address to use, as it stands")},
                   {"authenticated", boolean("")},
                   {"state", one_of("", {"pending", "active", "removing", "failed"})},
                   {"failure", or_null("Why it failed, or null")}};
    return shape("A published port", std::move(all));
}

namespace {

Json exposure() {
    Properties all{{"container_port", count()},
                   {"protocol", text("")},
                   {"subdomain", or_null("A name that was asked for, or null")},
                   {"authenticated", boolean("")}};
    return shape("", std::move(all));
}

Json spec() {
    Properties resources{{"cpu_millis", count()}, {"memory_mib", count()}, {"disk_mib", count()}, {"pids", count()}};
    Properties signals{{"untrusted_repository", boolean("")},
                       {"executes_generated_code", boolean("")},
                       {"needs_secrets", boolean("")},
                       {"host_mounts", boolean("")},
                       {"privileged", boolean("")}};
    Properties placement{{"required_labels", text_map("")},
                         {"preferred_region", or_null("A region, or null")},
                         {"anti_affinity_keys", texts("")}};
    Properties all{{"tenant", text("")},
                   {"image", text("")},
                   {"command", texts("")},
                   {"env", text_map("Values are hidden")},
                   {"resources", shape("", std::move(resources))},
                   {"network", one_of("", {"deny", "restricted_egress", "open_egress"})},
                   {"isolation", one_of("", {"auto", "container", "microvm"})},
                   {"sensitivity", one_of("", {"public", "internal", "confidential", "restricted"})},
                   {"signals", shape("", std::move(signals))},
                   {"ttl_seconds", count()},
                   {"labels", text_map("")},
                   {"placement", shape("", std::move(placement))},
                   {"exposures", list("", exposure())},
                   {"agent", or_null("An agent's name, or null")}};
    return shape("What was asked for", std::move(all));
}

}  // namespace

Json sandbox() {
    Properties startup{{"running", boolean("")},
                       {"exit_code", or_null("Null while it runs")},
                       {"tail", text("The last of its output")}};
    Properties all{{"id", id("")},
                   {"spec", spec()},
                   {"state", one_of("", {"scheduled", "creating", "running", "stopping", "stopped", "failed"})},
                   {"node_id", id("The host that it is on")},
                   {"isolation", one_of("How it is isolated", {"container", "microvm"})},
                   {"risk_score", count("0 to 100")},
                   {"created_at", text("")},
                   {"updated_at", text("")},
                   {"expires_at", text("When it is deleted by itself")},
                   {"failure", or_null("Why it failed, or null")},
                   {"tunnels", list("", tunnel())},
                   {"placement_reasons", texts("")},
                   {"startup", or_null("How its start-up command fares; null without one", std::move(startup))}};
    return shape("A sandbox", std::move(all));
}

Json operation(std::string_view description) {
    Properties output{
        {"exit_code", count("137 for one that was killed")},
        {"stdout", text("Cut in its middle when it is long; the text then says how to read on")},
        {"stderr", text("")},
        {"truncated", boolean("Whether the host kept less than was written")},
        {"timed_out", boolean("")},
        {"signal", or_null("The signal that ended it, or null")},
        {"oom_killed", boolean("Whether the memory limit killed a process of it")},
        {"stdout_bytes", count("As many as were written")},
        {"stderr_bytes", count("")},
        {"duration_ms", count("")},
        {"stdout_base64", or_null("The exact bytes of what stdout shows when they are no text, or null; null too for "
                                  "what was cut, which sandbox_operation with `stream` gives")},
        {"stderr_base64", or_null("The same of stderr")}};
    Properties all{{"id", id("")},
                   {"sandbox_id", id("")},
                   {"state", one_of("", {"pending", "running", "succeeded", "failed"})},
                   {"output", or_null("What a command left; null until it ends", std::move(output))},
                   {"error", or_null("Why it failed, or null")},
                   {"created_at", text("")},
                   {"updated_at", text("")},
                   {"kind", one_of("", {"create", "exec", "expose", "unexpose", "delete"})},
                   {"started_at", or_null("Null until it starts")},
                   {"argv", or_null("A command's argv, or null")},
                   {"phase", or_null("What it is doing; null when it has ended")}};
    return shape(description, std::move(all));
}

Json agent() {
    Properties all{{"name", text("")},          {"display_name", text("")},
                   {"executable", text("")},    {"default_image", or_null("Null: an image must be given")},
                   {"default_args", texts("")}, {"env_passthrough", texts("")},
                   {"homepage", text("")}};
    return shape("A coding agent", std::move(all));
}

Json output(Properties all) {
    all.emplace_back("note", text("What to do next, where there is something to say"));
    all.emplace_back("error", text("What went wrong; only there when the call failed"));
    return object(std::move(all), 0);
}

}  // namespace sandbox::mcp::schema
