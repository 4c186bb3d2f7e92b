#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loading.hpp"

namespace sandbox::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

// Nothing said: the documented defaults.
TEST(Load, starts_with_the_defaults) {
    const auto config = Start().config();

    EXPECT_EQ(config.role, Role::all);
    EXPECT_EQ(config.server.bind, "0.0.0.0:8080");
    EXPECT_EQ(config.policy.microvm_risk_threshold, 55);
    EXPECT_EQ(config.store.kind, StoreKind::memory);
    EXPECT_EQ(config.node.docker_host, "unix:///var/run/docker.sock");
    EXPECT_EQ(config.node.isolation_tiers, std::vector{domain::Tier::container});
    EXPECT_FALSE(config.node.resources);
    EXPECT_FALSE(config.node.control_plane_url);
    EXPECT_FALSE(config.node.name.empty());
    EXPECT_FALSE(config.log.format);
}

// File over default, variable over file.
TEST(Load, later_sources_win) {
    Start start;
    start.file("[server]\nbind = \"127.0.0.1:1\"\nmax_connections = 7\n[node]\nzone = \"file\"\n")
        .with("SANDBOX__SERVER__BIND", "127.0.0.1:2");

    const auto config = start.config();

    EXPECT_EQ(config.server.bind, "127.0.0.1:2");
    EXPECT_EQ(config.server.max_connections, 7);
    EXPECT_EQ(config.node.zone, "file");
    EXPECT_EQ(config.node.region, "local");
}

// The named file is read instead of the one in the working directory; the flag names it over the variable.
TEST(Load, reads_the_file_that_it_was_told_to) {
    Start start;
    start.file("[node]\nzone = \"here\"\n");
    start.with("SANDBOX_CONFIG", start.write("variable.toml", "[node]\nzone = \"variable\"\n"));
    EXPECT_EQ(start.config().node.zone, "variable");

    start.sources.config_file = start.write("flag.toml", "[node]\nzone = \"flag\"\n");
    EXPECT_EQ(start.config().node.zone, "flag");
}

TEST(Load, takes_the_role_from_the_flag_and_then_the_variable) {
    Start start;
    EXPECT_EQ(start.with("SANDBOX_ROLE", "controller").config().role, Role::controller);
    EXPECT_EQ(start.role(Role::all).config().role, Role::all);
}

// Variables are text; the key says what becomes of it.
TEST(Load, parses_variables_by_the_type_of_the_key) {
    const auto config = Start()
                            .with("SANDBOX__SERVER__METRICS_PUBLIC", "true")
                            .with("SANDBOX__SERVER__MAX_CONNECTIONS", " 12 ")
                            .with("SANDBOX__NODE__NAME", "12")
                            .with("SANDBOX__SERVER__TRUSTED_PROXIES", R"(["10.0.0.0/8", "fd00::/8"])")
                            .with("SANDBOX__NODE__RESTRICTED_ALLOW", "10.0.0.5:3128, proxy.internal:80")
                            .with("SANDBOX__NODE__RESOURCES", "{cpu_millis=1,memory_mib=2,disk_mib=3,pids=4}")
                            .with("SANDBOX__LOG__FORMAT", "text")
                            .config();

    EXPECT_TRUE(config.server.metrics_public);
    EXPECT_EQ(config.server.max_connections, 12);
    EXPECT_EQ(config.node.name, "12");
    EXPECT_THAT(config.server.trusted_proxies, ElementsAre("10.0.0.0/8", "fd00::/8"));
    EXPECT_THAT(config.node.restricted_allow, ElementsAre("10.0.0.5:3128", "proxy.internal:80"));
    EXPECT_EQ(config.node.resources, (domain::Resources{1, 2, 3, 4}));
    EXPECT_EQ(config.log.format, log::Format::text);
}

// One label by variable stands over the file's and leaves the others; its key becomes lower case, its value is text.
TEST(Load, sets_single_labels_by_variable) {
    Start start;
    start.file("[node.labels]\npool = \"cpu\"\ndisk = \"ssd\"\n")
        .with("SANDBOX__NODE__LABELS__POOL", "gpu")
        .with("SANDBOX__NODE__LABELS__RACK", "7");

    EXPECT_THAT(start.config().node.labels, ElementsAre(Pair("disk", "ssd"), Pair("pool", "gpu"), Pair("rack", "7")));
    EXPECT_THAT(start.with("SANDBOX__NODE__LABELS", "{ a = \"b\" }").config().node.labels,
                ElementsAre(Pair("a", "b"), Pair("pool", "gpu"), Pair("rack", "7")));
}

TEST(Load, sets_single_resources_by_variable) {
    Start start;
    start.file("[node.resources]\ncpu_millis = 1\nmemory_mib = 2\ndisk_mib = 3\npids = 4\n")
        .with("SANDBOX__NODE__RESOURCES__PIDS", "40");

    EXPECT_EQ(start.config().node.resources, (domain::Resources{1, 2, 3, 40}));
}

TEST(Load, reads_secrets_from_files_without_their_last_newline) {
    Start start;
    start.without("SANDBOX__SERVER__API_TOKEN")
        .with("SANDBOX__SERVER__API_TOKEN_FILE", start.write("token", std::string(40, 't') + "\n"));

    EXPECT_EQ(start.config().server.api_token.reveal(), std::string(40, 't'));
}

// A compose file passes what is not set as empty: that is not a value.
TEST(Load, takes_an_empty_variable_for_none) {
    const auto config = Start()
                            .file("[server]\naddress_file = \"address\"\n")
                            .with("SANDBOX__SERVER__ADDRESS_FILE", "")
                            .with("SANDBOX__SERVER__MAX_CONNECTIONS", "")
                            .with("SANDBOX__SERVER__PREVIOUS_API_TOKEN", "")
                            .with("SANDBOX__TUNNEL__EDGE_CERT_RESOLVER", "")
                            .config();

    EXPECT_EQ(config.server.address_file, "address");
    EXPECT_EQ(config.server.max_connections, 4096);
    EXPECT_TRUE(config.tunnel.edge_cert_resolver.empty());
}

TEST(Load, takes_log_level_and_engine_from_their_common_variables) {
    Start start;
    start.file("[log]\nlevel = \"error\"\n").with("SANDBOX_LOG", "debug").with("DOCKER_HOST", "tcp://127.0.0.1:2375");
    EXPECT_EQ(start.config().log.level, log::Level::debug);
    EXPECT_EQ(start.config().node.docker_host, "tcp://127.0.0.1:2375");

    start.with("SANDBOX__LOG__LEVEL", "warn").with("SANDBOX__NODE__DOCKER_HOST", "unix:///run/other.sock");
    EXPECT_EQ(start.config().log.level, log::Level::warn);
    EXPECT_EQ(start.config().node.docker_host, "unix:///run/other.sock");
}

// Its own worker shows the daemon's own token; a worker alone must be given one, and knows where a controller is.
TEST(Load, completes_the_worker_by_role) {
    EXPECT_EQ(Start().config().node.token.reveal(), kNodeToken);

    const auto worker = Start().role(Role::worker).with("SANDBOX__NODE__TOKEN", kNodeToken).config();
    EXPECT_EQ(worker.node.control_plane_url, "http://127.0.0.1:8080");
}

TEST(Load, creates_the_state_directory_of_a_worker_for_its_owner_alone) {
    Start start;
    start.with("SANDBOX__NODE__STATE_DIR", start.path("deep/state"));

    EXPECT_EQ(start.config().node.state_dir, start.path("deep/state"));
    EXPECT_EQ(std::filesystem::status(start.path("deep/state")).permissions(), std::filesystem::perms::owner_all);
    EXPECT_TRUE(std::filesystem::is_empty(start.path("deep/state")));
}

TEST(Load, leaves_the_state_directory_alone_in_a_controller) {
    Start start;
    EXPECT_EQ(start.role(Role::controller).refusal(), "");
    EXPECT_FALSE(std::filesystem::exists(start.path("state")));
}

struct DevStart : Start {
    DevStart() {
        without("SANDBOX__SERVER__API_TOKEN").without("SANDBOX__SERVER__NODE_TOKEN");
        without("SANDBOX__NODE__STATE_DIR").dev().with("HOME", path("home"));
    }
};

TEST(Dev, needs_nothing_and_listens_on_loopback) {
    const DevStart start;

    const auto config = start.config();

    EXPECT_TRUE(config.dev);
    EXPECT_EQ(config.role, Role::all);
    EXPECT_EQ(config.server.bind, "127.0.0.1:8080");
    EXPECT_EQ(config.store.kind, StoreKind::memory);
    EXPECT_TRUE(config.server.allow_unauthenticated_dev);
    EXPECT_EQ(config.policy.microvm_risk_threshold, 101);
    EXPECT_EQ(config.node.state_dir, start.path("home/.local/share/sandbox"));
}

TEST(Dev, keeps_its_state_in_the_users_data_directory) {
    DevStart start;
    start.with("XDG_DATA_HOME", start.path("data"));
    EXPECT_EQ(start.config().node.state_dir, start.path("data/sandbox"));
}

TEST(Dev, gives_way_to_what_is_set) {
    DevStart start;
    start.file("[policy]\nmicrovm_risk_threshold = 60\n").with("SANDBOX__SERVER__BIND", "[::1]:9090");
    start.with("SANDBOX__SERVER__API_TOKEN", kApiToken);

    EXPECT_EQ(start.config().policy.microvm_risk_threshold, 60);
    EXPECT_EQ(start.config().server.bind, "[::1]:9090");
    EXPECT_EQ(start.config().server.api_token.reveal(), kApiToken);
}

// --check-config prints this: no secret is in it, and it can be given back.
TEST(Describe, masks_secrets_and_can_be_read_back) {
    Start start;
    start.with("SANDBOX__NODE__LABELS__POOL", "g\"pu").with("SANDBOX__NODE__NAME", "näme");
    start.with("SANDBOX__NODE__ISOLATION_TIERS", "container").with("SANDBOX__BUS__NATS_URL", "nats://u:hunter2@h:4222");
    const auto text = describe(start.config());
    EXPECT_THAT(text, Not(HasSubstr(kApiToken)));
    EXPECT_THAT(text, Not(HasSubstr(kNodeToken)));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(text, HasSubstr("\n#api_token = \"********\"  # "));

    Start again;
    again.without("SANDBOX__NODE__STATE_DIR").with("SANDBOX__BUS__NATS_URL", "nats://u:hunter2@h:4222").file(text);
    EXPECT_EQ(describe(again.config()), text);
}

}  // namespace
}  // namespace sandbox::config
