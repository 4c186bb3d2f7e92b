// A worker that dies at any moment, containers that die by themselves, a clock that is wrong.
#include "fleet.hpp"

namespace sandbox::test {
namespace {

using testing::HasSubstr;

std::string docker(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "docker");
    return run_program({.argv = std::move(arguments)}).out;
}

TEST(Recovery, a_killed_worker_comes_back_to_what_is_really_there) {
    Fleet fleet;
    fleet.start_worker();
    const auto api = fleet.api();
    const auto lives = api.running();
    const auto removed = api.running();
    const auto busy = api.running();
    const auto exec = api.enqueue(busy, {{"argv", {"sleep", "120"}}})["id"].get<std::string>();
    ASSERT_TRUE(
        eventually(10s, [&] { return api.get("/v1/operations/" + exec).json()["operation"]["state"] == "running"; }));

    fleet.kill_worker();
    docker({"rm", "-f", "sandbox-" + removed});
    fleet.start_worker();

    EXPECT_EQ(api.run(lives, {"echo", "alive"})["output"]["stdout"], "alive\n");
    const auto interrupted = api.wait(exec);
    EXPECT_EQ(interrupted["state"], "failed");
    EXPECT_THAT(interrupted["error"].get<std::string>(), HasSubstr("interrupted"));
    EXPECT_TRUE(eventually(20s, [&] { return api.sandbox(removed)["state"] == "failed"; }));
    EXPECT_FALSE(api.sandbox(removed)["failure"].is_null());
    // What the former process had begun is gone; the sandbox itself takes commands.
    EXPECT_THAT(api.run(busy, {"ps", "-o", "args"})["output"]["stdout"].get<std::string>(),
                testing::Not(HasSubstr("sleep 120")));

    EXPECT_EQ(api.node()["capacity"]["running_sandboxes"], 2);
    for (const auto& id : {lives, removed, busy}) {
        EXPECT_EQ(api.destroy(id)["state"], "succeeded");
        EXPECT_EQ(engine_holds(id), "");
    }
    EXPECT_TRUE(
        eventually(20s, [&] { return api.node()["capacity"]["available"] == api.node()["capacity"]["total"]; }));
}

TEST(Recovery, a_container_that_dies_by_itself_fails_its_sandbox_within_seconds) {
    Fleet fleet;
    fleet.start_worker();
    const auto api = fleet.api();
    const auto removed = api.running();
    const auto killed = api.running();
    // That the limit once killed a command of it is no reason for its end.
    EXPECT_EQ(api.run(killed, {"sh", "-c", "tail -c 400000000 /dev/zero"})["output"]["oom_killed"], true);
    docker({"rm", "-f", "sandbox-" + removed});
    docker({"kill", "sandbox-" + killed});
    for (const auto& id : {removed, killed}) {
        EXPECT_TRUE(eventually(8s, [&] { return api.sandbox(id)["state"] == "failed"; })) << api.sandbox(id).dump();
        EXPECT_THAT(api.sandbox(id)["failure"].get<std::string>(),
                    testing::AllOf(testing::StartsWith("sandbox "), testing::Not(testing::HasSubstr("memory"))));
        EXPECT_EQ(api.destroy(id)["state"], "succeeded");
        EXPECT_EQ(engine_holds(id), "");
    }
}

TEST(Recovery, a_worker_whose_clock_is_an_hour_off_serves_all_the_same) {
    Fleet fleet(an_hour_ahead());
    fleet.start_worker();
    const auto api = fleet.api();
    const auto id = api.running({{"ttl_seconds", 30}});
    EXPECT_EQ(api.run(id, {"sh", "-c", "sleep 12; echo slow"})["output"]["stdout"], "slow\n");
    EXPECT_EQ(api.sandbox(id)["state"], "running");
    EXPECT_TRUE(eventually(40s, [&] { return api.sandbox(id)["state"] == "stopped"; }));
}

}  // namespace
}  // namespace sandbox::test
