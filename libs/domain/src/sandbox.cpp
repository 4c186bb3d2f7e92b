#include <limits>

#include <nlohmann/json.hpp>

#include <sandbox/domain/sandbox.hpp>

#include "json_fields.hpp"

namespace sandbox::domain {

void to_json(nlohmann::json& json, const Tunnel& value) {
    json = {{"id", value.id.text()},
            {"container_port", value.container_port},
            {"protocol", to_text(value.protocol)},
            {"subdomain", or_null(value.subdomain)},
            {"hostname", value.hostname},
            {"public_url", value.public_url},
            {"authenticated", value.authenticated},
            {"state", to_text(value.state)},
            {"failure", or_null(value.failure)}};
}

Tunnel read_tunnel(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Tunnel value;
    read_id(reader, "id", value.id);
    value.container_port = reader.integer("container_port", 1, 65535);
    value.protocol = reader.enumeration<Protocol>("protocol", kProtocolNames, Protocol::http);
    value.subdomain = reader.optional_string("subdomain");
    value.hostname = reader.string("hostname");
    value.public_url = reader.optional_string("public_url").value_or("");
    value.authenticated = reader.boolean_or("authenticated", false);
    value.state = reader.enumeration<TunnelState>("state", kTunnelStateNames, TunnelState::pending);
    value.failure = reader.optional_string("failure");
    return value;
}

void to_json(nlohmann::json& json, const Startup& value) {
    json = {{"running", value.running}, {"exit_code", or_null(value.exit_code)}, {"tail", without_nul(value.tail)}};
}

Startup read_startup(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Startup value;
    value.running = reader.boolean_or("running", false);
    value.exit_code = reader.optional_integer("exit_code", std::numeric_limits<std::int32_t>::min(),
                                              std::numeric_limits<std::int32_t>::max());
    value.tail = without_nul(reader.optional_string("tail").value_or(""));
    return value;
}

void to_json(nlohmann::json& json, const Sandbox& value) {
    json = {{"id", value.id.text()},
            {"spec", value.spec},
            {"state", to_text(value.state)},
            {"node_id", value.node_id.text()},
            {"isolation", to_text(value.isolation)},
            {"risk_score", value.risk_score},
            {"created_at", format_time(value.created_at)},
            {"updated_at", format_time(value.updated_at)},
            {"expires_at", format_time(value.expires_at)},
            {"failure", or_null(value.failure)},
            {"tunnels", value.tunnels},
            {"placement_reasons", value.placement_reasons},
            {"startup", or_null(value.startup)}};
}

Sandbox read_sandbox(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Sandbox value;
    read_id(reader, "id", value.id);
    value.spec = required_object(reader, "spec", read_peer_spec);
    value.state = reader.enumeration<SandboxState>("state", kSandboxStateNames, std::nullopt);
    read_id(reader, "node_id", value.node_id);
    value.isolation = reader.enumeration<Tier>("isolation", kTierNames, std::nullopt);
    value.risk_score = static_cast<int>(reader.optional_integer("risk_score", 0, 100).value_or(0));
    value.created_at = read_time(reader, "created_at");
    value.updated_at = read_time(reader, "updated_at");
    value.expires_at = read_time(reader, "expires_at");
    value.failure = reader.optional_string("failure");
    value.tunnels = object_array(reader, "tunnels", read_tunnel);
    value.placement_reasons = reader.strings("placement_reasons");
    value.startup = optional_object(reader, "startup", read_startup);
    return value;
}

}  // namespace sandbox::domain
