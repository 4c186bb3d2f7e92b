#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answering_server.hpp"

namespace sandbox::client {
namespace {

using namespace std::chrono_literals;
using test::AnsweringServer;
using test::run;

constexpr std::string_view kId = "019f0000-0000-7000-8000-000000000001";
const auto kNode = *domain::NodeId::parse(kId);

// A worker's lease loop against an older server, which does not wait, must not spin.
TEST(WorkerClient, holds_an_empty_lease_back_that_came_too_soon) {
    AnsweringServer server;
    server.answer(200, R"({"assignments": []})");
    WorkerClient client(server.io.get_executor(), server.settings());
    const auto begun = std::chrono::steady_clock::now();

    auto answer = run(server.io, client.lease(kNode, 8, 20, in(30s)));

    ASSERT_TRUE(answer) << answer.error().error.message();
    EXPECT_TRUE(answer->assignments.empty());
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 500ms);
    EXPECT_EQ(server.requests.front().target, "/v1/nodes/" + std::string(kId) + "/assignments?limit=8&wait_seconds=20");
}

// A cancel is news: it is not held back.
TEST(WorkerClient, hands_a_cancel_over_at_once) {
    AnsweringServer server;
    server.answer(200, fmt::format(R"({{"assignments": [], "cancel": ["{}"]}})", kId));
    WorkerClient client(server.io.get_executor(), server.settings());
    const auto begun = std::chrono::steady_clock::now();

    auto answer = run(server.io, client.lease(kNode, 8, 20, in(30s)));

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->cancel.size(), 1U);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 400ms);
}

// The worker cuts its output further when a report is too large, so it has to see 413.
TEST(WorkerClient, tells_the_status_of_a_refused_report) {
    AnsweringServer server;
    server.answer(413, "");
    WorkerClient client(server.io.get_executor(), server.settings());

    auto answer = run(server.io, client.complete(domain::Completion{}, in(5s)));

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().status, 413U);
}

// An older server's heartbeat and registration answers lack what was added since.
TEST(WorkerClient, reads_an_older_servers_answers) {
    AnsweringServer server;
    server.answer(200, fmt::format(R"({{"node_id": "{}", "heartbeat_interval_seconds": 10}})", kId));
    server.answer(200, R"({"ok": true})");
    WorkerClient client(server.io.get_executor(), server.settings());

    auto registered = run(server.io, client.register_node({}, in(5s)));
    auto heartbeat = run(server.io, client.heartbeat(kNode, {}, in(5s)));

    ASSERT_TRUE(registered) << registered.error().error.message();
    EXPECT_EQ(registered->max_output_bytes, std::nullopt);
    ASSERT_TRUE(heartbeat) << heartbeat.error().error.message();
    EXPECT_TRUE(heartbeat->remove.empty());
}

}  // namespace
}  // namespace sandbox::client
