// A worker waits for work at one controller, and the work comes in at another.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace sandbox::test {
namespace {

TEST(Delivery, of_work_to_a_worker_that_waits_at_another_controller_takes_no_poll) {
    Cluster cluster({.controllers = 2, .variables = {}});
    Runs runs;
    const CountedNode node(cluster.address(0), runs);
    PatientClient client({cluster.address(1)});
    const auto made = client.ask("POST", "/v1/sandboxes", small_spec().dump());
    ASSERT_EQ(client.ended(made)["state"], "succeeded");
    const auto sandbox = "/v1/sandboxes/" + made.json()["sandbox"]["id"].get<std::string>();

    std::vector<double> delivery;  // milliseconds from the request to the command's beginning
    std::vector<double> answer;    // to the answer, of a command that takes no time
    for (int i = 0; i < 40; ++i) {
        const auto asked = std::chrono::steady_clock::now();
        const auto reply =
            client.ask("POST", sandbox + "/exec?wait_seconds=60", R"({"command":{"argv":["work","0"]}})");
        const auto answered = std::chrono::steady_clock::now();
        ASSERT_EQ(reply.json()["operation"]["state"], "succeeded") << reply.body;
        const auto began = runs.beginning(reply.json()["operation"]["id"].get<std::string>());
        delivery.push_back(std::chrono::duration<double, std::milli>(began - asked).count());
        answer.push_back(std::chrono::duration<double, std::milli>(answered - asked).count());
    }
    std::ranges::sort(delivery);
    std::ranges::sort(answer);
    std::printf(
        "through another controller: begun after %.1f ms (p50), %.1f ms (worst); answered after %.1f ms (p50)\n",
        delivery[delivery.size() / 2], delivery.back(), answer[answer.size() / 2]);
    // Polling alone would take half a second on the way there and half a second on the way back.
    EXPECT_LT(delivery[delivery.size() / 2], 400);
    EXPECT_LT(answer[answer.size() / 2], 800);
}

}  // namespace
}  // namespace sandbox::test
