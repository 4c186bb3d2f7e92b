// How the daemon lives: it starts, serves, reloads, and goes in order when it is told to.
#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/http_call.hpp"
#include "support/process.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kApiToken(40, 'k');
const std::string kNodeToken(40, 'n');

TEST(Daemon, ends_in_order_within_seconds_of_sigterm_though_long_polls_wait) {
    Daemon daemon;
    const auto started = std::chrono::steady_clock::now();
    EXPECT_EQ(daemon.stop(), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - started, 5s);
    EXPECT_THAT(daemon.process().err(), HasSubstr("stopped"));
}

TEST(Daemon, keeps_its_node_id_over_restarts) {
    Daemon daemon;
    const auto before = call(daemon.address(), "GET", "/v1/nodes").json()["nodes"][0]["id"];
    daemon.restart_after_kill();
    const auto after = call(daemon.address(), "GET", "/v1/nodes").json()["nodes"][0]["id"];
    EXPECT_EQ(before, after);
}

TEST(Daemon, asks_for_tokens_where_they_are_set) {
    Daemon daemon(
        {.variables = {{"SANDBOX__SERVER__API_TOKEN", kApiToken}, {"SANDBOX__SERVER__NODE_TOKEN", kNodeToken}},
         .arguments = {"--dev"}});
    EXPECT_EQ(call(daemon.address(), "GET", "/healthz").status, 200);
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/nodes").status, 401);
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/nodes", "", {{"Authorization", "Bearer " + kNodeToken}}).status, 401);
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/nodes", "", {{"Authorization", "Bearer " + kApiToken}}).status, 200);
    EXPECT_EQ(call(daemon.address(), "GET", "/metrics").status, 401);
    EXPECT_THAT(daemon.process().err(), testing::Not(HasSubstr(kApiToken)));
}

// A page in a browser on the same machine must not use a server that asks for no token.
TEST(Daemon, without_tokens_answers_no_web_page) {
    Daemon daemon;
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/nodes").status, 200);
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/nodes", "", {{"Origin", "http://evil.example"}}).status, 401);
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/nodes", "", {{"Sec-Fetch-Site", "same-origin"}}).status, 401);
    EXPECT_THAT(send_raw(daemon.address(), "GET /v1/nodes HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
                HasSubstr("401"));
    EXPECT_THAT(
        send_raw(daemon.address(), "GET /v1/nodes HTTP/1.1\r\nHost: 127.evil.example\r\nConnection: close\r\n\r\n"),
        HasSubstr("401"));
}

// Two workers on one state directory would be one node and end each other's work.
TEST(Daemon, keeps_its_state_directory_to_itself) {
    Daemon daemon;
    const auto second =
        run_program({.argv = {program("sandboxd"), "--dev"},
                     .environment = {{"SANDBOX__SERVER__BIND", "127.0.0.1:0"},
                                     {"SANDBOX__NODE__STATE_DIR", daemon.state_directory() + "/state"}}},
                    10s);
    EXPECT_EQ(second.status, 2);
    EXPECT_THAT(second.err, HasSubstr("node.state_dir"));
}

TEST(Daemon, that_can_not_do_its_work_does_not_start) {
    for (const auto& [variable, value] : std::map<std::string, std::string>{
             {"SANDBOX__NODE__GUEST_PATH", "/nowhere"}, {"SANDBOX__SERVER__ADDRESS_FILE", "/nowhere/x"}}) {
        TemporaryDirectory directory;
        const auto ended = run_program({.argv = {program("sandboxd"), "--dev"},
                                        .environment = {{"SANDBOX__SERVER__BIND", "127.0.0.1:0"},
                                                        {"SANDBOX__NODE__STATE_DIR", directory.path()},
                                                        {variable, value}}},
                                       10s);
        EXPECT_EQ(ended.status, 2) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr("/nowhere"));
    }
}

TEST(Daemon, serves_its_metrics_and_its_own_description) {
    Daemon daemon;
    const auto metrics = call(daemon.address(), "GET", "/metrics");
    EXPECT_EQ(metrics.status, 200);
    EXPECT_THAT(metrics.body, HasSubstr("sandbox_nodes 1"));
    const auto document = call(daemon.address(), "GET", "/openapi.json");
    EXPECT_EQ(document.status, 200);
    EXPECT_EQ(document.json()["openapi"], "3.1.0");
}

}  // namespace
}  // namespace sandbox::test
