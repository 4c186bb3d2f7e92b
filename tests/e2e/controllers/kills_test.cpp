// Controllers that end by kill -9 with work under way, and start again: every operation ends right, none is lost, none
// runs twice, and the event log has no gap. SANDBOX_TEST_KILLS says how often in the long series.
#include <future>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "account.hpp"
#include "traffic.hpp"

namespace sandbox::test {
namespace {

constexpr std::size_t kSandboxes = 20;
constexpr std::size_t kOperations = 200;

struct Work {
    std::vector<std::string> sandboxes;
    std::vector<std::string> operations;
};

/// 200 commands, of which the first begin at once and take seconds.
Work enqueue_two_hundred(const Cluster& cluster) {
    PatientClient client(cluster.addresses());
    Work work;
    for (std::size_t i = 0; i < kSandboxes; ++i) {
        const auto made = client.ask("POST", "/v1/sandboxes", small_spec().dump(), "sandbox-" + std::to_string(i));
        work.sandboxes.push_back(made.json()["sandbox"]["id"].get<std::string>());
        EXPECT_EQ(client.ended(made)["state"], "succeeded");
    }
    for (std::size_t i = 0; i < kOperations; ++i) {
        const json command{{"command", {{"argv", {"work", std::to_string(1000 + 20 * i)}}}}};
        const auto reply = client.ask("POST", "/v1/sandboxes/" + work.sandboxes[i % kSandboxes] + "/exec",
                                      command.dump(), "exec-" + std::to_string(i));
        work.operations.push_back(reply.json()["operation"]["id"].get<std::string>());
    }
    return work;
}

/// Every one of them has succeeded, in one run; then everything is deleted and in order.
void expect_done_once(const Cluster& cluster, const Work& work, const Runs& runs) {
    PatientClient client(cluster.addresses());
    EXPECT_EQ(std::set(work.operations.begin(), work.operations.end()).size(), kOperations);
    for (const auto& id : work.operations) {
        const auto operation = client.ended(id);
        EXPECT_EQ(operation["state"], "succeeded") << operation.dump();
        EXPECT_EQ(operation["output"]["exit_code"], 0) << operation.dump();
        EXPECT_EQ(runs.begun(id), 1) << operation.dump();
    }
    EXPECT_EQ(runs.operations(), kOperations);
    for (const auto& id : work.sandboxes)
        EXPECT_EQ(client.ended(client.ask("DELETE", "/v1/sandboxes/" + id))["state"], "succeeded");
    expect_in_order(cluster, work.sandboxes);
}

TEST(ControllerKill, of_the_only_one_with_two_hundred_operations_at_work_loses_none_and_doubles_none) {
    Cluster cluster({.controllers = 1, .variables = {}});
    Runs runs;
    const CountedNode one(cluster.address(0), runs);
    const CountedNode other(cluster.address(0), runs);
    const auto work = enqueue_two_hundred(cluster);
    ASSERT_TRUE(eventually(60s, [&] { return runs.under_way() > 20; }));

    cluster.controller(0).restart_after_kill();

    expect_done_once(cluster, work, runs);
}

TEST(ControllerKill, of_one_of_three_with_two_hundred_operations_at_work_loses_none_and_doubles_none) {
    Cluster cluster;
    Runs runs;
    const CountedNode one(cluster.address(0), runs);
    const CountedNode other(cluster.address(1), runs);
    const CountedNode third(cluster.address(0), runs);
    auto work = std::async(std::launch::async, [&] { return enqueue_two_hundred(cluster); });
    // Also while they are still being enqueued. (By this thread: a controller ends with the one that starts it.)
    EXPECT_TRUE(eventually(60s, [&] { return runs.under_way() > 20; }));
    cluster.controller(0).restart_after_kill();

    expect_done_once(cluster, work.get(), runs);
}

TEST(ControllerKill, at_any_moment_under_load_loses_nothing_and_doubles_nothing) {
    Cluster cluster({.nats = true, .variables = {}});
    Runs runs;
    std::vector<std::unique_ptr<CountedNode>> nodes;
    for (std::size_t i = 0; i < cluster.size(); ++i)
        nodes.push_back(std::make_unique<CountedNode>(cluster.address(i), runs));
    Crowd crowd(cluster, runs, 6);
    ASSERT_TRUE(crowd.serve(12));

    std::minstd_rand random(20261130);  // a seed of its own: a failure can be repeated
    std::uniform_int_distribution<int> moment(100, 1500);
    for (int i = 0; i < repeats("SANDBOX_TEST_KILLS", 5); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(moment(random)));
        cluster.controller(random() % cluster.size()).restart_after_kill();
    }
    EXPECT_TRUE(crowd.serve(12)) << "nobody is served after the last start";
    crowd.leave();

    std::printf("%d rounds, %d commands; %d times no answer, %d times unavailable\n", crowd.rounds, crowd.commands,
                crowd.unanswered, crowd.unavailable);
    expect_in_order(cluster, crowd.sandboxes);
    expect_whole_bus(cluster);
}

}  // namespace
}  // namespace sandbox::test
