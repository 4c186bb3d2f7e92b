#include <algorithm>

#include "key.hpp"
#include "key_kinds.hpp"

namespace sandbox::config {
namespace {

using kinds::boolean;
using kinds::choice;
using kinds::integer;
using kinds::list;
using kinds::optional_text;
using kinds::secret;
using kinds::text;
using kinds::with_default;

// Names the member that a key sets.
#define FIELD(member) [](auto& c) -> auto& { return c.member; }

constexpr std::int64_t kYear = 366LL * 86400;

constexpr domain::Names<log::Level, 6> kLevels{{{"trace", log::Level::trace},
                                                {"debug", log::Level::debug},
                                                {"info", log::Level::info},
                                                {"warn", log::Level::warn},
                                                {"error", log::Level::error},
                                                {"critical", log::Level::critical}}};
constexpr domain::Names<log::Format, 2> kFormats{{{"json", log::Format::json}, {"text", log::Format::text}}};

/// The four quantities, all of them.
Key resources() {
    static constexpr std::string_view kNames[] = {"cpu_millis", "memory_mib", "disk_mib", "pids"};
    static constexpr std::int64_t domain::Resources::* kMembers[] = {
        &domain::Resources::cpu_millis, &domain::Resources::memory_mib, &domain::Resources::disk_mib,
        &domain::Resources::pids};
    Key key;
    key.path = "node.resources";
    key.kind = Kind::table;
    key.expects = "a table of cpu_millis, memory_mib, disk_mib and pids, each a positive integer";
    key.meaning = "what sandboxes on this worker may take together";
    key.read = [](Config& config, const toml::node& node) {
        const auto* table = node.as_table();
        if (table == nullptr || table->size() != std::size(kNames)) return false;
        domain::Resources value;
        for (std::size_t i = 0; i < std::size(kNames); ++i) {
            const auto* quantity = table->get_as<std::int64_t>(kNames[i]);
            if (quantity == nullptr) return false;
            value.*kMembers[i] = quantity->get();
        }
        config.node.resources = value;
        return true;
    };
    key.holds = [](const Config& config) {
        constexpr std::int64_t kMost = 1'000'000'000;
        if (!config.node.resources) return true;
        return std::ranges::all_of(kMembers, [&](auto member) {
            const auto quantity = *config.node.resources.*member;
            return quantity > 0 && quantity <= kMost;
        });
    };
    key.write = [](const Config& config) {
        if (!config.node.resources) return std::string();
        const auto& r = *config.node.resources;
        return fmt::format("{{ cpu_millis = {}, memory_mib = {}, disk_mib = {}, pids = {} }}", r.cpu_millis,
                           r.memory_mib, r.disk_mib, r.pids);
    };
    return with_default(std::move(key), "from the host");
}

Key labels() {
    Key key;
    key.path = "node.labels";
    key.kind = Kind::table;
    key.expects = "a table of labels, each of them text: { pool = \"gpu\" }";
    key.meaning = "hard placement labels";
    key.read = [](Config& config, const toml::node& node) {
        const auto* table = node.as_table();
        if (table == nullptr) return false;
        std::map<std::string, std::string> values;
        for (const auto& [name, value] : *table) {
            if (!value.is_string() || name.str().empty()) return false;
            values.emplace(name.str(), value.as_string()->get());
        }
        config.node.labels = std::move(values);
        return true;
    };
    key.holds = [](const Config&) { return true; };
    key.write = [](const Config& config) {
        std::vector<std::string> items;
        for (const auto& [name, value] : config.node.labels)
            items.push_back(fmt::format("{} = {}", toml_string(name), toml_string(value)));
        return items.empty() ? std::string("{}") : fmt::format("{{ {} }}", fmt::join(items, ", "));
    };
    return kinds::finished(std::move(key));
}

Key isolation_tiers() {
    Key key;
    key.path = "node.isolation_tiers";
    key.kind = Kind::list;
    key.expects = "a list of container and microvm, not empty";
    key.meaning = "what this worker's runtime is declared to give; microvm with Docker needs docker_runtime";
    key.read = [](Config& config, const toml::node& node) {
        const auto* array = node.as_array();
        if (array == nullptr) return false;
        std::vector<domain::Tier> tiers;
        for (const auto& element : *array) {
            const auto name = element.value<std::string>();
            const auto* tier = std::ranges::find(domain::kTierNames, name.value_or(""),
                                                 [](const auto& entry) { return std::string(entry.first); });
            if (tier == domain::kTierNames.end()) return false;
            if (std::ranges::find(tiers, tier->second) == tiers.end()) tiers.push_back(tier->second);
        }
        config.node.isolation_tiers = std::move(tiers);
        return true;
    };
    key.holds = [](const Config& config) {
        return !config.node.isolation_tiers || !config.node.isolation_tiers->empty();
    };
    key.write = [](const Config& config) {
        if (!config.node.isolation_tiers) return std::string();
        std::vector<std::string> names;
        for (const auto tier : *config.node.isolation_tiers) names.push_back(toml_string(domain::to_text(tier)));
        return fmt::format("[{}]", fmt::join(names, ", "));
    };
    return with_default(std::move(key), "container for Docker, the probe's answer for external");
}

void add_server_keys(std::vector<Key>& keys) {
    keys.push_back(text("server.bind", FIELD(server.bind), form::kBind, "listen address; IPv6 as [::]:8080"));
    keys.push_back(secret("server.api_token", FIELD(server.api_token), form::kToken, "what operators show"));
    keys.push_back(secret("server.node_token", FIELD(server.node_token), form::kToken, "what workers show"));
    keys.push_back(secret("server.previous_api_token", FIELD(server.previous_api_token), form::kToken,
                          "accepted too, so that the token can be changed without a gap"));
    keys.push_back(secret("server.previous_node_token", FIELD(server.previous_node_token), form::kToken,
                          "accepted too, so that the token can be changed without a gap"));
    keys.push_back(boolean("server.allow_unauthenticated_dev", FIELD(server.allow_unauthenticated_dev),
                           "skip tokens that are not set; only on a loopback bind"));
    keys.push_back(integer("server.heartbeat_interval_seconds", FIELD(server.heartbeat_interval_seconds), 1, 3600,
                           "how often a worker reports"));
    keys.push_back(integer("server.heartbeat_timeout_seconds", FIELD(server.heartbeat_timeout_seconds), 1, 86400,
                           "a worker silent for this long gets no new sandboxes"));
    keys.push_back(integer("server.node_lost_seconds", FIELD(server.node_lost_seconds), 1, kYear,
                           "a worker silent for this long is lost and its sandboxes are failed"));
    keys.push_back(integer("server.assignment_lease_seconds", FIELD(server.assignment_lease_seconds), 1, 3600,
                           "lease length; renewed while the work runs"));
    keys.push_back(integer("server.request_body_limit_bytes", FIELD(server.request_body_limit_bytes), 1024, 1LL << 30,
                           "longest request body"));
    keys.push_back(integer("server.exec_body_limit_bytes", FIELD(server.exec_body_limit_bytes), 1024, 1LL << 30,
                           "longest body of an exec, which carries standard input"));
    keys.push_back(integer("server.orphan_grace_seconds", FIELD(server.orphan_grace_seconds), 0, kYear,
                           "how long unknown sandboxes on a node are kept"));
    keys.push_back(optional_text("server.address_file", FIELD(server.address_file), form::kNotEmpty,
                                 "the real address is written here once it listens"));
    keys.push_back(integer("server.max_connections", FIELD(server.max_connections), 1, 1'000'000,
                           "connections at once; past it 503"));
    keys.push_back(optional_text("server.tls_cert_file", FIELD(server.tls_cert_file), form::kNotEmpty,
                                 "certificate chain (PEM) for HTTPS; reloaded on SIGHUP"));
    keys.push_back(
        optional_text("server.tls_key_file", FIELD(server.tls_key_file), form::kNotEmpty, "its private key (PEM)"));
    keys.push_back(boolean("server.metrics_public", FIELD(server.metrics_public), "/metrics without a token"));
    keys.push_back(list("server.trusted_proxies", FIELD(server.trusted_proxies), form::kCidr,
                        "networks whose CF-Connecting-IP and X-Forwarded-For are believed"));
}

void add_store_bus_and_policy_keys(std::vector<Key>& keys) {
    keys.push_back(choice("store.kind", FIELD(store.kind), kStoreKindNames, "where the truth is kept"));
    keys.push_back(secret("store.database_url", FIELD(store.database_url), form::kDatabaseUrl,
                          "required for postgres; with its sslmode"));
    keys.push_back(integer("store.max_connections", FIELD(store.max_connections), 1, 1000, "to the database"));
    keys.push_back(choice("bus.kind", FIELD(bus.kind), kBusKindNames, "where lifecycle events go"));
    keys.push_back(secret("bus.nats_url", FIELD(bus.nats_url), form::kNatsUrls, "one or several servers"));
    keys.push_back(text("bus.subject", FIELD(bus.subject), form::kSubject, "subject of the events"));
    keys.push_back(
        optional_text("bus.credentials_file", FIELD(bus.credentials_file), form::kNotEmpty, "NATS credentials"));
    keys.push_back(integer("policy.max_ttl_seconds", FIELD(policy.max_ttl_seconds), 30, 604800,
                           "longest life a sandbox may ask for"));
    keys.push_back(integer("policy.microvm_risk_threshold", FIELD(policy.microvm_risk_threshold), 0, 101,
                           "from this risk score on a sandbox needs a microvm; 101 never"));
    keys.push_back(integer("policy.max_output_bytes", FIELD(policy.max_output_bytes), 1, 64LL << 20,
                           "kept of each output stream of a command"));
    keys.push_back(integer("policy.retention_days", FIELD(policy.retention_days), 0, 36500,
                           "ended records are deleted after this; 0 keeps all"));
    keys.push_back(integer("policy.output_retention_hours", FIELD(policy.output_retention_hours), 1, 876000,
                           "command outputs go earlier"));
}

void add_node_keys(std::vector<Key>& keys) {
    keys.push_back(with_default(optional_text("node.control_plane_url", FIELD(node.control_plane_url), form::kHttpUrl,
                                              "the controller that this worker serves"),
                                "\"http://127.0.0.1:8080\"; in role all the daemon's own address"));
    keys.push_back(with_default(
        optional_text("node.ca_file", FIELD(node.ca_file), form::kNotEmpty, "for a controller with a private CA"),
        "the system's"));
    keys.push_back(with_default(secret("node.token", FIELD(node.token), form::kToken, "the controller's node token"),
                                "none; in role all server.node_token"));
    keys.push_back(
        with_default(text("node.name", FIELD(node.name), form::kNotEmpty, "shown to operators"), "the host's name"));
    keys.push_back(text("node.region", FIELD(node.region), form::kNotEmpty, "for placement"));
    keys.push_back(text("node.zone", FIELD(node.zone), form::kNotEmpty, "for placement"));
    keys.push_back(labels());
    keys.push_back(choice("node.runtime", FIELD(node.runtime), kRuntimeKindNames, "what isolates the sandboxes"));
    keys.push_back(optional_text("node.external_driver", FIELD(node.external_driver), form::kAbsolutePath,
                                 "the driver's program; required for external"));
    keys.push_back(with_default(
        text("node.docker_host", FIELD(node.docker_host), form::kDockerHost, "the engine: unix:// or tcp://"),
        "DOCKER_HOST, else \"unix:///var/run/docker.sock\""));
    keys.push_back(with_default(optional_text("node.docker_runtime", FIELD(node.docker_runtime), form::kName,
                                              "an OCI runtime that the engine knows: runsc, kata, …"),
                                "the engine's default"));
    keys.push_back(isolation_tiers());
    keys.push_back(text("node.docker_restricted_network", FIELD(node.docker_restricted_network), form::kName,
                        "network of restricted sandboxes; made when absent"));
    keys.push_back(resources());
    keys.push_back(integer("node.max_sandboxes", FIELD(node.max_sandboxes), 0, 100'000, "at once; 0 sets no limit"));
    keys.push_back(integer("node.concurrency", FIELD(node.concurrency), 1, 1000, "creates at work at once"));
    keys.push_back(with_default(
        optional_text("node.guest_path", FIELD(node.guest_path), form::kNotEmpty, "the sandbox-guest program"),
        "sandbox-guest beside the program, then ../libexec/sandbox/"));
    keys.push_back(list("node.restricted_allow", FIELD(node.restricted_allow), form::kHostPort,
                        "what restricted sandboxes may reach"));
    keys.push_back(integer("node.image_pull_timeout_seconds", FIELD(node.image_pull_timeout_seconds), 1, 86400,
                           "time limit of one image pull"));
    keys.push_back(
        text("node.state_dir", FIELD(node.state_dir), form::kNotEmpty, "node id and disks; created, must be writable"));
}

void add_tunnel_keys(std::vector<Key>& keys) {
    keys.push_back(boolean("tunnel.enabled", FIELD(tunnel.enabled), "the keys below are not checked while it is off"));
    keys.push_back(with_default(
        text("tunnel.base_domain", FIELD(tunnel.base_domain), form::kBaseDomain, "tunnels get names below it"),
        "none"));
    keys.push_back(text("tunnel.public_scheme", FIELD(tunnel.public_scheme), form::kScheme, "what URLs say"));
    keys.push_back(integer("tunnel.public_port", FIELD(tunnel.public_port), 1, 65535, "appended to URLs when set"));
    keys.push_back(with_default(optional_text("tunnel.edge", FIELD(tunnel.edge), form::kEdge, "who serves tunnels"),
                                "\"embedded\"; \"traefik\" when an edge_* key or docker_network_prefix is set"));
    keys.push_back(list("tunnel.api_hosts", FIELD(tunnel.api_hosts), form::kHostNames,
                        "hosts under the base domain that are the API"));
    keys.push_back(integer("tunnel.max_per_sandbox", FIELD(tunnel.max_per_sandbox), 1, 32, "tunnels of one sandbox"));
    keys.push_back(text("tunnel.docker_network_prefix", FIELD(tunnel.docker_network_prefix), form::kShortName,
                        "Traefik edge: names of the networks"));
    keys.push_back(
        text("tunnel.config_dir", FIELD(tunnel.config_dir), form::kAbsolutePath, "Traefik edge: where route files go"));
    keys.push_back(
        text("tunnel.edge_container", FIELD(tunnel.edge_container), form::kName, "Traefik edge: its container"));
    keys.push_back(text("tunnel.edge_entrypoint", FIELD(tunnel.edge_entrypoint), form::kName,
                        "Traefik edge: entry point of the routes"));
    keys.push_back(boolean("tunnel.edge_tls", FIELD(tunnel.edge_tls), "Traefik edge: TLS on the routes"));
    keys.push_back(text("tunnel.edge_cert_resolver", FIELD(tunnel.edge_cert_resolver), form::kNameOrEmpty,
                        "Traefik edge: certificate resolver; may be empty"));
    keys.push_back(boolean("tunnel.local_relay_enabled", FIELD(tunnel.local_relay_enabled), "sandbox http PORT"));
    keys.push_back(boolean("tunnel.local_relay_require_auth", FIELD(tunnel.local_relay_require_auth),
                           "the operator token to open one"));
    keys.push_back(text("tunnel.local_relay_upstream", FIELD(tunnel.local_relay_upstream), form::kPlainHttpUrl,
                        "Traefik edge: what relay hosts are forwarded to"));
    keys.push_back(integer("tunnel.max_local_relays", FIELD(tunnel.max_local_relays), 1, 10000, "sessions in all"));
    keys.push_back(integer("tunnel.max_local_relays_per_client", FIELD(tunnel.max_local_relays_per_client), 1, 100,
                           "sessions of one client address"));
    keys.push_back(integer("tunnel.local_relay_body_limit_bytes", FIELD(tunnel.local_relay_body_limit_bytes), 65536,
                           67108864, "longest body through a relay"));
    keys.push_back(integer("tunnel.local_relay_ttl_seconds", FIELD(tunnel.local_relay_ttl_seconds), 60, 86400,
                           "life of a relay session"));
}

#undef FIELD

}  // namespace

std::span<const Key> all_keys() {
    static const auto keys = [] {
        std::vector<Key> list;
        add_server_keys(list);
        add_store_bus_and_policy_keys(list);
        add_node_keys(list);
        add_tunnel_keys(list);
        list.push_back(
            choice("log.level", [](auto& c) -> auto& { return c.log.level; }, kLevels, "SANDBOX_LOG sets it too"));
        list.push_back(with_default(
            choice(
                "log.format", [](auto& c) -> auto& { return c.log.format; }, kFormats, "form of a log line"),
            "\"json\", or \"text\" when stderr is a terminal"));
        return list;
    }();
    return keys;
}

const Key* find_key(std::string_view path) {
    const auto keys = all_keys();
    const auto found = std::ranges::find(keys, path, &Key::path);
    return found == keys.end() ? nullptr : &*found;
}

std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out.append({'\\', c});
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            out += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        else
            out += c;
    }
    return out + '"';
}

std::vector<std::pair<std::string, std::string>> keys() {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& key : all_keys()) pairs.emplace_back(key.path, key.default_text);
    return pairs;
}

}  // namespace sandbox::config
