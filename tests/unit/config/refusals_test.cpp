// Every start that is refused says so in one sentence: the key, where it came from, what would be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loading.hpp"

namespace sandbox::config {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Refusal, names_key_line_and_what_would_be_right) {
    EXPECT_EQ(Start().file("[server]\n\nmax_connections = 0\n").refusal(),
              "server.max_connections (sandbox.toml:3): must be an integer from 1 to 1000000, not 0");
    EXPECT_EQ(Start().file("server.bind = \"example\"\n").refusal(),
              "server.bind (sandbox.toml:1): must be an IP address or localhost with a port, such as 0.0.0.0:8080 or "
              "[::]:8080, not \"example\"");
    EXPECT_EQ(Start().file("server.metrics_public = \"yes\"").refusal(),
              "server.metrics_public (sandbox.toml:1): must be true or false, not \"yes\"");
}

TEST(Refusal, names_the_variable) {
    EXPECT_EQ(Start().with("SANDBOX__POLICY__MICROVM_RISK_THRESHOLD", "102").refusal(),
              "policy.microvm_risk_threshold (SANDBOX__POLICY__MICROVM_RISK_THRESHOLD): must be an integer from 0 to "
              "101, not 102");
    EXPECT_EQ(Start().with("SANDBOX__STORE__KIND", "sqlite").refusal(),
              "store.kind (SANDBOX__STORE__KIND): must be one of memory, postgres, not \"sqlite\"");
    EXPECT_EQ(Start().with("SANDBOX__NODE__RESOURCES", "{cpu_millis=1}").refusal(),
              "node.resources (SANDBOX__NODE__RESOURCES): must be a table of cpu_millis, memory_mib, disk_mib and "
              "pids, each a positive integer");
    EXPECT_EQ(Start().with("SANDBOX__SERVER__TRUSTED_PROXIES", "10.0.0.1").refusal(),
              "server.trusted_proxies (SANDBOX__SERVER__TRUSTED_PROXIES): must be a list of networks such as "
              "10.0.0.0/8 or fd00::/8");
    EXPECT_EQ(Start().with("DOCKER_HOST", "ssh://host").refusal(),
              "node.docker_host (DOCKER_HOST): must be unix:///path or tcp://host:port, not \"ssh://host\"");
    EXPECT_EQ(Start().with("SANDBOX_ROLE", "boss").refusal(),
              "SANDBOX_ROLE: must be controller, worker or all, not \"boss\"");
}

TEST(Refusal, offers_the_nearest_key) {
    EXPECT_EQ(Start().file("[server]\nbnid = \"x\"\n").refusal(),
              "server.bnid (sandbox.toml:2): there is no such key; did you mean server.bind?");
    EXPECT_EQ(Start().with("SANDBOX__SERVER__API_TOKN", "secret").refusal(),
              "SANDBOX__SERVER__API_TOKN: there is no such key; did you mean SANDBOX__SERVER__API_TOKEN?");
    // Only secrets are read from files.
    EXPECT_THAT(Start().with("SANDBOX__NODE__NAME_FILE", "x").refusal(),
                StartsWith("SANDBOX__NODE__NAME_FILE: there is no such key"));
    EXPECT_THAT(Start().file("[completely_different]\n").refusal(), HasSubstr("there is no such key"));
    EXPECT_EQ(Start().file("server = 3\n").refusal(), "server (sandbox.toml:1): must be a table of keys");
}

// A wrong secret is described, never shown; nor is the line of a syntax error that may hold one.
TEST(Refusal, never_shows_a_secret) {
    EXPECT_EQ(Start().with("SANDBOX__SERVER__API_TOKEN", "hunter2").refusal(),
              "server.api_token (SANDBOX__SERVER__API_TOKEN): must be at least 32 visible ASCII characters, such as "
              "openssl rand -hex 32 prints");
    EXPECT_THAT(Start().with("SANDBOX__STORE__DATABASE_URL", "mysql://u:hunter2@h").refusal(),
                AllOf(StartsWith("store.database_url"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(Start().file("[server]\napi_token = 123456789012345678901234567890\n").refusal(),
                AllOf(StartsWith("sandbox.toml:2: "), Not(HasSubstr("1234567"))));
}

TEST(Refusal, says_where_a_file_is_not_toml) {
    EXPECT_THAT(Start().file("[server]\nbind = \n").refusal(), StartsWith("sandbox.toml:2: "));
}

TEST(Refusal, needs_a_file_that_was_named) {
    Start start;
    start.sources.config_file = start.path("absent.toml");
    EXPECT_EQ(start.refusal(), "configuration file: " + *start.sources.config_file + " cannot be read");
}

TEST(Refusal, wants_a_secret_once) {
    Start start;
    start.with("SANDBOX__SERVER__API_TOKEN_FILE", start.write("token", kApiToken));
    EXPECT_EQ(start.refusal(),
              "server.api_token: both SANDBOX__SERVER__API_TOKEN and SANDBOX__SERVER__API_TOKEN_FILE are set; keep one "
              "of them");

    start.without("SANDBOX__SERVER__API_TOKEN").with("SANDBOX__SERVER__API_TOKEN_FILE", start.path("gone"));
    EXPECT_EQ(start.refusal(),
              "server.api_token (SANDBOX__SERVER__API_TOKEN_FILE): " + start.path("gone") + " cannot be read");
}

TEST(Refusal, needs_tokens) {
    EXPECT_EQ(Start().without("SANDBOX__SERVER__API_TOKEN").refusal(),
              "server.api_token is not set: give SANDBOX__SERVER__API_TOKEN or SANDBOX__SERVER__API_TOKEN_FILE at "
              "least 32 visible ASCII characters, such as openssl rand -hex 32 prints");
    EXPECT_THAT(Start().without("SANDBOX__SERVER__NODE_TOKEN").role(Role::controller).refusal(),
                StartsWith("server.node_token is not set"));
    EXPECT_EQ(Start().role(Role::worker).refusal(),
              "node.token is not set: give the controller's node token in SANDBOX__NODE__TOKEN or "
              "SANDBOX__NODE__TOKEN_FILE");
}

TEST(Refusal, keeps_operators_and_workers_apart) {
    const std::string sentence =
        "server.api_token and server.node_token, also the previous ones, must differ from each other";
    EXPECT_EQ(Start().with("SANDBOX__SERVER__NODE_TOKEN", kApiToken).refusal(), sentence);
    EXPECT_EQ(Start().with("SANDBOX__SERVER__PREVIOUS_NODE_TOKEN", kApiToken).refusal(), sentence);
    EXPECT_EQ(Start().with("SANDBOX__SERVER__PREVIOUS_API_TOKEN", kApiToken).refusal(), "");
}

TEST(Refusal, serves_without_tokens_on_loopback_only) {
    Start start;
    start.without("SANDBOX__SERVER__API_TOKEN").without("SANDBOX__SERVER__NODE_TOKEN");
    start.with("SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true");
    EXPECT_EQ(start.refusal(),
              "server.bind: must be a loopback address such as 127.0.0.1:8080 while "
              "server.allow_unauthenticated_dev is true");
    for (const auto* bind : {"127.0.0.1:0", "127.9.9.9:80", "[::1]:80", "localhost:80"})
        EXPECT_EQ(start.with("SANDBOX__SERVER__BIND", bind).refusal(), "") << bind;
    EXPECT_THAT(start.with("SANDBOX__SERVER__BIND", "[::]:80").refusal(),
                StartsWith("server.bind (SANDBOX__SERVER__BIND): must be a loopback address"));
    EXPECT_THAT(Start().with("SANDBOX__SERVER__BIND", "10.0.0.1:80").dev().refusal(),
                StartsWith("server.bind (SANDBOX__SERVER__BIND): --dev serves a loopback address only"));
}

TEST(Refusal, wants_addresses_that_can_be_bound) {
    for (const auto* bind : {"", "8080", "host:80", "1.2.3.4", "1.2.3.4:65536", "::1:80", "[::1]", "1.2.3.4:-1"})
        EXPECT_THAT(Start().file("server.bind = \"" + std::string(bind) + "\"").refusal(),
                    StartsWith("server.bind (sandbox.toml:1): must be an IP address"))
            << bind;
}

TEST(Refusal, needs_both_halves_of_tls) {
    Start start;
    start.with("SANDBOX__SERVER__TLS_CERT_FILE", start.path("cert.pem"));
    EXPECT_EQ(start.refusal(),
              "server.tls_cert_file (SANDBOX__SERVER__TLS_CERT_FILE) is set without server.tls_key_file: HTTPS needs "
              "both");
    start.with("SANDBOX__SERVER__TLS_KEY_FILE", start.write("key.pem", ""));
    EXPECT_EQ(start.refusal(), "server.tls_cert_file (SANDBOX__SERVER__TLS_CERT_FILE): " + start.path("cert.pem") +
                                   " cannot be read (No such file or directory)");
}

TEST(Refusal, needs_a_driver_that_can_be_run) {
    Start start;
    start.with("SANDBOX__NODE__RUNTIME", "external");
    EXPECT_EQ(start.refusal(),
              "node.external_driver is not set: node.runtime (SANDBOX__NODE__RUNTIME) needs an absolute path");

    const auto driver = start.write("driver", "#!/bin/sh\n");
    start.with("SANDBOX__NODE__EXTERNAL_DRIVER", driver);
    EXPECT_EQ(start.refusal(),
              "node.external_driver (SANDBOX__NODE__EXTERNAL_DRIVER): " + driver + " is not an executable file");
    EXPECT_THAT(start.with("SANDBOX__NODE__EXTERNAL_DRIVER", driver + "-gone").refusal(), HasSubstr("is not there"));
    EXPECT_THAT(start.with("SANDBOX__NODE__EXTERNAL_DRIVER", "driver").refusal(),
                HasSubstr("must be an absolute path"));
    EXPECT_EQ(start.with("SANDBOX__NODE__EXTERNAL_DRIVER", "/bin/true").refusal(), "");
}

TEST(Refusal, takes_docker_for_a_microvm_only_with_a_runtime_that_is_one) {
    Start start;
    start.with("SANDBOX__NODE__ISOLATION_TIERS", "container,microvm");
    EXPECT_EQ(start.refusal(),
              "node.isolation_tiers (SANDBOX__NODE__ISOLATION_TIERS): microvm with Docker needs node.docker_runtime, "
              "such as kata");
    EXPECT_EQ(start.with("SANDBOX__NODE__DOCKER_RUNTIME", "kata").refusal(), "");
}

TEST(Refusal, needs_a_database_url_for_postgres) {
    EXPECT_EQ(Start().with("SANDBOX__STORE__KIND", "postgres").refusal(),
              "store.database_url is not set: store.kind (SANDBOX__STORE__KIND) needs it, a URL that begins with "
              "postgres:// or postgresql://");
}

/// What a controller on PostgreSQL says of this URL; "" when it would start.
std::string refusal_of_database(const std::string& url) {
    return Start()
        .role(Role::controller)
        .with("SANDBOX__STORE__KIND", "postgres")
        .with("SANDBOX__STORE__DATABASE_URL", url)
        .refusal();
}

// What libpq would refuse at the start is refused by a check too, and no part of it is shown.
TEST(Refusal, wants_a_database_url_that_libpq_takes) {
    for (const auto* url :
         {"postgres://u:hunter2@h/db", "postgresql://u:hunter%402@h:5432/db?sslmode=verify-full&connect_timeout=5",
          "postgres://u@h1:1,h2:2/db?target_session_attrs=read-write", "postgres://u@/db?host=/run/postgresql",
          "postgres://u:hunter2@[::1]:5432/db?sslmode=disable", "postgres://"})
        EXPECT_EQ(refusal_of_database(url), "") << url;
    for (const auto* url : {"postgres://u:hunter2@h/db?sslmod=disable", "postgres://u:a@b@h/db?sslmod=disable",
                            "postgres://u:hunter@hunter2@h/db", "postgres://u:hunter2/hunter2@h/db",
                            "postgres://u:hunter2%zz@h/db", "postgres://u:hunter2@[::1/db"})
        EXPECT_THAT(refusal_of_database(url),
                    AllOf(StartsWith("store.database_url (SANDBOX__STORE__DATABASE_URL): must look like postgres://"),
                          Not(HasSubstr("hunter")), Not(HasSubstr("sslmod="))))
            << url;
    EXPECT_EQ(refusal_of_database("postgres://u:hunter2@h/db?sslmode=foo"),
              "store.database_url (SANDBOX__STORE__DATABASE_URL): its sslmode must be one of disable, allow, prefer, "
              "require, verify-ca, verify-full");
}

// Read as the start reads it: one address, not a list of them.
TEST(Refusal, wants_a_control_plane_url_that_a_worker_can_use) {
    for (const auto* url : {"http://a:1,http://b:2", "http://a:99999", "http://a:8x/y"})
        EXPECT_THAT(Start().with("SANDBOX__NODE__CONTROL_PLANE_URL", url).refusal(),
                    StartsWith("node.control_plane_url (SANDBOX__NODE__CONTROL_PLANE_URL): "))
            << url;
    EXPECT_EQ(Start().with("SANDBOX__NODE__CONTROL_PLANE_URL", "https://sandbox.example:8443/prefix/").refusal(), "");
    EXPECT_THAT(Start().with("DOCKER_HOST", "tcp://h:99999").refusal(), StartsWith("node.docker_host (DOCKER_HOST): "));
}

TEST(Refusal, needs_a_state_directory_that_can_be_written) {
    Start start;
    start.with("SANDBOX__NODE__STATE_DIR", "/proc/sandbox");
    EXPECT_THAT(start.refusal(),
                AllOf(StartsWith("node.state_dir (SANDBOX__NODE__STATE_DIR): /proc/sandbox cannot be created"),
                      Not(HasSubstr("\n"))));
    start.with("SANDBOX__NODE__STATE_DIR", start.write("file", "") + "/state");
    EXPECT_THAT(start.refusal(), HasSubstr("cannot be created (Not a directory)"));
}

TEST(Refusal, checks_tunnel_keys_only_while_tunnels_are_on) {
    Start start;
    start.file("[tunnel]\nbase_domain = \"UPPER\"\nmax_per_sandbox = 99\n");
    EXPECT_EQ(start.refusal(), "");

    start.with("SANDBOX__TUNNEL__ENABLED", "true");
    EXPECT_THAT(start.refusal(), StartsWith("tunnel.base_domain (sandbox.toml:2): must be a lowercase domain"));
    EXPECT_EQ(Start().file("tunnel.enabled = true").refusal(),
              "tunnel.base_domain is not set: tunnel.enabled = true needs it");
    EXPECT_EQ(Start().file("tunnel = {enabled = true, base_domain = \"t.example\", api_hosts = [\"a.b\"]}").refusal(),
              "tunnel.api_hosts: a.b is not below tunnel.base_domain t.example");
}

TEST(Refusal, knows_what_this_version_can_not_serve) {
    EXPECT_EQ(Start().file("tunnel = {enabled = true, base_domain = \"t.example.com\"}").refusal(),
              "tunnels are not available in this version; set tunnel.enabled = false");
}

TEST(Refusal, of_nats_is_only_for_what_can_not_be_read) {
    EXPECT_EQ(Start().with("SANDBOX__BUS__KIND", "nats").refusal(), "");
    EXPECT_THAT(Start().with("SANDBOX__BUS__KIND", "nats").file("bus.credentials_file = \"/nowhere\"").refusal(),
                StartsWith("bus.credentials_file (sandbox.toml:1): /nowhere cannot be read"));
}

// Forms that no other test breaks.
TEST(Refusal, holds_each_key_to_its_form) {
    const std::pair<const char*, const char*> wrong[] = {
        {"bus.nats_url", "\"http://h\""},
        {"bus.nats_url", "\"nats://a,\""},
        {"bus.subject", "\"a.*\""},
        {"bus.subject", "\".a\""},
        {"node.control_plane_url", "\"ftp://h\""},
        {"node.control_plane_url", "\"http://u:p@h\""},
        {"node.docker_host", "\"unix://relative\""},
        {"node.docker_restricted_network", "\"a b\""},
        {"node.labels", "{ a = 1 }"},
        {"node.isolation_tiers", "[]"},
        {"node.isolation_tiers", "[\"vm\"]"},
        {"node.restricted_allow", "[\"host\"]"},
        {"node.resources", "{cpu_millis=0,memory_mib=1,disk_mib=1,pids=1}"},
        {"server.trusted_proxies", "[\"10.0.0.0/33\"]"},
        {"server.max_connections", "1.5"},
        {"log.level", "\"loud\""},
    };
    for (const auto& [key, value] : wrong)
        EXPECT_THAT(Start().file(std::string(key) + " = " + value).refusal(),
                    StartsWith(std::string(key) + " (sandbox.toml:1): must be "))
            << value;
}

}  // namespace
}  // namespace sandbox::config
