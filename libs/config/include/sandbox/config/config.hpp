#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sandbox/base/error.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/base/secret.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::config {

enum class Role { controller, worker, all };
inline constexpr domain::Names<Role, 3> kRoleNames{
    {{"controller", Role::controller}, {"worker", Role::worker}, {"all", Role::all}}};

struct Server {
    std::string bind = "0.0.0.0:8080";
    Secret api_token;
    Secret node_token;
    Secret previous_api_token;
    Secret previous_node_token;
    bool allow_unauthenticated_dev = false;
    std::int64_t heartbeat_interval_seconds = 10;
    std::int64_t heartbeat_timeout_seconds = 45;
    std::int64_t node_lost_seconds = 300;
    std::int64_t assignment_lease_seconds = 30;
    std::int64_t request_body_limit_bytes = 1048576;
    std::int64_t exec_body_limit_bytes = 16777216;
    std::int64_t orphan_grace_seconds = 600;
    std::optional<std::string> address_file;
    std::int64_t max_connections = 4096;
    std::optional<std::string> tls_cert_file;
    std::optional<std::string> tls_key_file;
    bool metrics_public = false;
    std::vector<std::string> trusted_proxies;
};
enum class StoreKind { memory, postgres };
inline constexpr domain::Names<StoreKind, 2> kStoreKindNames{
    {{"memory", StoreKind::memory}, {"postgres", StoreKind::postgres}}};
struct Store {
    StoreKind kind = StoreKind::memory;
    Secret database_url;  // holds a password
    std::int64_t max_connections = 16;
};
enum class BusKind { memory, nats };
inline constexpr domain::Names<BusKind, 2> kBusKindNames{{{"memory", BusKind::memory}, {"nats", BusKind::nats}}};
struct Bus {
    BusKind kind = BusKind::memory;
    Secret nats_url{std::string("nats://127.0.0.1:4222")};  // may hold a password
    std::string subject = "sandbox.events";
    std::optional<std::string> credentials_file;
};
struct Policy {
    std::int64_t max_ttl_seconds = 86400;
    std::int64_t microvm_risk_threshold = 55;
    std::int64_t max_output_bytes = 1048576;
    std::int64_t retention_days = 30;
    std::int64_t output_retention_hours = 168;
};
enum class RuntimeKind { docker, external };
inline constexpr domain::Names<RuntimeKind, 2> kRuntimeKindNames{
    {{"docker", RuntimeKind::docker}, {"external", RuntimeKind::external}}};
struct Node {
    std::optional<std::string> control_plane_url;  // role all: the daemon's own address
    std::optional<std::string> ca_file;
    Secret token;
    std::string name;  // the host's name unless set
    std::string region = "local";
    std::string zone = "local-a";
    std::map<std::string, std::string> labels;
    RuntimeKind runtime = RuntimeKind::docker;
    std::optional<std::string> external_driver;
    std::string docker_host = "unix:///var/run/docker.sock";
    std::optional<std::string> docker_runtime;
    std::optional<std::vector<domain::Tier>> isolation_tiers;
    std::string docker_restricted_network = "sandbox-egress";
    std::optional<domain::Resources> resources;  // from the host unless set
    std::int64_t max_sandboxes = 100;
    std::int64_t concurrency = 16;
    std::optional<std::string> guest_path;
    std::vector<std::string> restricted_allow;
    std::int64_t image_pull_timeout_seconds = 600;
    std::string state_dir = "/var/lib/sandbox";
};
/// Checked in form; the daemon refuses enabled = true until it can serve tunnels.
struct Tunnel {
    bool enabled = false;
    std::string base_domain;
    std::string public_scheme = "https";
    std::optional<std::int64_t> public_port;
    std::optional<std::string> edge;
    std::vector<std::string> api_hosts;
    std::int64_t max_per_sandbox = 8;
    std::string docker_network_prefix = "sandbox-tunnel";
    std::string config_dir = "/var/lib/sandbox/tunnels";
    std::string edge_container = "sandbox-tunnel-edge";
    std::string edge_entrypoint = "websecure";
    bool edge_tls = true;
    std::string edge_cert_resolver = "letsencrypt";
    bool local_relay_enabled = false;
    bool local_relay_require_auth = true;
    std::string local_relay_upstream = "http://controller:8080";
    std::int64_t max_local_relays = 100;
    std::int64_t max_local_relays_per_client = 3;
    std::int64_t local_relay_body_limit_bytes = 16777216;
    std::int64_t local_relay_ttl_seconds = 14400;
};
struct Log {
    log::Level level = log::Level::info;
    std::optional<log::Format> format;  // json, or text when stderr is a terminal
};

/// All that the daemon was told. docs/configuration.md has every key with its default and range.
struct Config {
    Role role = Role::all;
    bool dev = false;
    Server server;
    Store store;
    Bus bus;
    Policy policy;
    Node node;
    Tunnel tunnel;
    Log log;
};

/// What the command line and the process give to loading; no other input is read but the files named in it.
struct Sources {
    std::map<std::string, std::string> environment;
    std::optional<std::string> config_file;  // --config
    std::optional<Role> role;                // --role
    bool dev = false;                        // --dev
    std::string working_directory = ".";     // where sandbox.toml is looked for
};

/// Defaults, then file, then environment, then every check that needs no network (tokens, ranges, files that must
/// exist, the state directory of a worker is created and written to). With --dev its defaults stand below the file.
/// Errors: invalid_argument with one line that names the key, where it came from and what would be right; never a
/// secret's value.
[[nodiscard]] Result<Config> load(const Sources& sources);

/// The effective configuration as TOML with secrets masked, for --check-config; it can be read back.
[[nodiscard]] std::string describe(const Config& config);

/// Every key with its default, one per entry, in the order of the documentation: {"server.bind", "\"0.0.0.0:8080\""}.
/// docs and the example file are checked against it.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> keys();

}  // namespace sandbox::config
