#include <nlohmann/json.hpp>

#include <sandbox/domain/spec.hpp>
#include <sandbox/domain/validation.hpp>

#include "json_fields.hpp"
#include "resources.hpp"

namespace sandbox::domain {

namespace {

/// On input the short forms of older clients are understood as well.
constexpr Names<Network, 5> kNetworkInputNames{{{"deny", Network::deny},
                                                {"restricted_egress", Network::restricted_egress},
                                                {"open_egress", Network::open_egress},
                                                {"restricted", Network::restricted_egress},
                                                {"open", Network::open_egress}}};

Signals read_signals(const nlohmann::json& json, const std::string& path, Problems& problems, UnknownFields unknown) {
    ObjectReader reader(json, path, problems, unknown);
    Signals value;
    value.untrusted_repository = reader.boolean_or("untrusted_repository", false);
    value.executes_generated_code = reader.boolean_or("executes_generated_code", false);
    value.needs_secrets = reader.boolean_or("needs_secrets", false);
    value.host_mounts = reader.boolean_or("host_mounts", false);
    value.privileged = reader.boolean_or("privileged", false);
    reader.finish();
    return value;
}

Placement read_placement(const nlohmann::json& json, const std::string& path, Problems& problems,
                         UnknownFields unknown) {
    ObjectReader reader(json, path, problems, unknown);
    Placement value;
    value.required_labels = reader.string_map("required_labels");
    value.preferred_region = reader.optional_string("preferred_region");
    value.anti_affinity_keys = reader.strings("anti_affinity_keys");
    reader.finish();
    return value;
}

}  // namespace

void to_json(nlohmann::json& json, const Exposure& value) {
    json = {{"container_port", value.container_port},
            {"protocol", to_text(value.protocol)},
            {"subdomain", or_null(value.subdomain)},
            {"authenticated", value.authenticated}};
}

Exposure read_exposure(const nlohmann::json& json, const std::string& path, Problems& problems, UnknownFields unknown) {
    ObjectReader reader(json, path, problems, unknown);
    Exposure value;
    value.container_port = reader.integer("container_port", 1, 65535);
    value.protocol = reader.enumeration<Protocol>("protocol", kProtocolNames, Protocol::http);
    value.subdomain = reader.optional_string("subdomain");
    value.authenticated = reader.boolean_or("authenticated", false);
    reader.finish();
    return value;
}

void to_json(nlohmann::json& json, const SandboxSpec& value) {
    const auto& signals = value.signals;
    const auto& placement = value.placement;
    json = {{"tenant", value.tenant},
            {"image", value.image},
            {"command", value.command},
            {"env", value.env},
            {"resources", value.resources},
            {"network", to_text(value.network)},
            {"isolation", to_text(value.isolation)},
            {"sensitivity", to_text(value.sensitivity)},
            {"signals",
             {{"untrusted_repository", signals.untrusted_repository},
              {"executes_generated_code", signals.executes_generated_code},
              {"needs_secrets", signals.needs_secrets},
              {"host_mounts", signals.host_mounts},
              {"privileged", signals.privileged}}},
            {"ttl_seconds", value.ttl_seconds},
            {"labels", value.labels},
            {"placement",
             {{"required_labels", placement.required_labels},
              {"preferred_region", or_null(placement.preferred_region)},
              {"anti_affinity_keys", placement.anti_affinity_keys}}},
            {"exposures", value.exposures},
            {"agent", or_null(value.agent)}};
}

SandboxSpec read_spec(const nlohmann::json& json, const std::string& path, Problems& problems, UnknownFields unknown) {
    ObjectReader reader(json, path, problems, unknown);
    SandboxSpec value;
    value.tenant = reader.string("tenant");
    value.image = reader.string("image");
    value.command = reader.strings("command");
    value.env = reader.string_map("env");
    if (const auto* field = reader.field("resources"))
        value.resources = read_resources(*field, reader.path_of("resources"), problems, unknown, kFloors);
    value.network = reader.enumeration<Network>("network", kNetworkInputNames, Network::deny);
    value.isolation =
        reader.enumeration<IsolationPreference>("isolation", kIsolationPreferenceNames, IsolationPreference::automatic);
    value.sensitivity = reader.enumeration<Sensitivity>("sensitivity", kSensitivityNames, Sensitivity::internal);
    if (const auto* field = reader.field("signals"))
        value.signals = read_signals(*field, reader.path_of("signals"), problems, unknown);
    value.ttl_seconds =
        reader.optional_integer("ttl_seconds", kLeastTtlSeconds, kMostTtlSeconds).value_or(value.ttl_seconds);
    value.labels = reader.string_map("labels");
    if (const auto* field = reader.field("placement"))
        value.placement = read_placement(*field, reader.path_of("placement"), problems, unknown);
    for (const auto& element : reader.array("exposures"))
        value.exposures.push_back(read_exposure(element.value, element.path, problems, unknown));
    value.agent = reader.optional_string("agent");
    reader.finish();
    return value;
}

}  // namespace sandbox::domain
