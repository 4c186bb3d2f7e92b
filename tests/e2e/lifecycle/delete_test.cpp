// Deleting, in every state and at any moment.
#include <thread>

#include "fixture.hpp"

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
