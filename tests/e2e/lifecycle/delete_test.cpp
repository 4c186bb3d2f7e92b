// Deleting, in every state and at any moment.
#include <csignal>
#include <thread>

#include "fleet.hpp"

namespace sandbox::test {
namespace {

TEST(Delete, never_waits_behind_commands) {
    Daemon daemon;
    Api api(daemon.address());
    const auto id = api.running();
    std::vector<std::string> execs;
    for (int i = 0; i < 65; ++i)
        execs.push_back(api.enqueue(id, {{"argv", {"sleep", "120"}}})["id"].get<std::string>());
    std::this_thread::sleep_for(2s);

    const auto started = std::chrono::steady_clock::now();
    EXPECT_EQ(api.destroy(id)["state"], "succeeded");
    EXPECT_LT(std::chrono::steady_clock::now() - started, 10s);
    for (const auto& exec : execs) {
        const auto ended = api.wait(exec);
        EXPECT_EQ(ended["state"], "failed");
        EXPECT_EQ(ended["error"], "cancelled");
        EXPECT_EQ(ended["output"]["exit_code"], 137);
    }
    EXPECT_EQ(engine_holds(id), "");
}

// Ctrl-C while the sandbox's worker is away: the delete goes on, and nothing says that it is done.
TEST(Delete, that_is_interrupted_names_the_operation_that_goes_on) {
    Fleet fleet;
    fleet.start_worker();
    const auto id = fleet.api().running();
    fleet.kill_worker();

    Process deleting({.argv = {program("sandbox"), "--server", fleet.url(), "delete", id}});
    std::this_thread::sleep_for(1s);
    deleting.signal(SIGINT);
    const auto ended = deleting.wait(10s);

    EXPECT_EQ(ended.status, 130);
    EXPECT_EQ(ended.out, "");
    EXPECT_NE(ended.err.find("deleting sandbox " + id + " goes on"), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find("sandbox wait "), std::string::npos) << ended.err;
    fleet.start_worker();
    EXPECT_EQ(fleet.api().destroy(id)["state"], "succeeded");
}

TEST(Delete, a_moment_after_create_leaves_nothing_a_hundred_times) {
    Daemon daemon;
    Api api(daemon.address());
    const json body{{"spec",
                     {{"tenant", "acme"},
                      {"image", kImage},
                      {"resources", {{"cpu_millis", 50}, {"memory_mib", 64}, {"disk_mib", 64}, {"pids", 16}}}}}};
    std::vector<std::string> ids;
    for (int i = 0; i < 100; ++i) {
        const auto made = call(api.address(), "POST", "/v1/sandboxes", body.dump());
        ASSERT_EQ(made.status, 201U) << made.body;
        ids.push_back(made.json()["sandbox"]["id"].get<std::string>());
        std::this_thread::sleep_for(10ms);
        const auto gone = call(api.address(), "DELETE", "/v1/sandboxes/" + ids.back());
        EXPECT_TRUE(gone.status == 202 || gone.status == 200) << gone.body;
    }
    for (const auto& id : ids) {
        EXPECT_EQ(api.destroy(id)["state"], "succeeded");
        EXPECT_EQ(api.sandbox(id)["state"], "stopped");
        EXPECT_EQ(engine_holds(id), "");
    }
    EXPECT_EQ(api.node()["capacity"]["available"], api.node()["capacity"]["total"]);
}

}  // namespace
}  // namespace sandbox::test
