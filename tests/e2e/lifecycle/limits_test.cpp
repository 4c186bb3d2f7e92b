// Limits that hold: disk, memory, processes, time; and an exec under a short lease runs once.
#include "fixture.hpp"

namespace sandbox::test {
namespace {

using testing::HasSubstr;

class Limits : public Lifecycle {
protected:
    [[nodiscard]] static bool node_limits_disks() {
        const auto features = api().node()["features"];
        return std::ranges::find(features, json("disk_limit")) != features.end();
    }
};

TEST_F(Limits, a_full_disk_is_the_sandboxs_own) {
    const auto small =
        api().running({{"resources", {{"cpu_millis", 500}, {"memory_mib", 128}, {"disk_mib", 64}, {"pids", 64}}}});
    const auto ended = api().run(small, {"dd", "if=/dev/zero", "of=/workspace/f", "bs=1M", "count=256"});
    if (node_limits_disks()) {
        EXPECT_EQ(ended["state"], "failed");
        EXPECT_THAT(ended["output"]["stderr"].get<std::string>(), HasSubstr("No space left on device"));
    } else {
        EXPECT_THAT(daemon_->process().err(), HasSubstr("disk_limit"));
    }
    EXPECT_EQ(api().destroy(small)["state"], "succeeded");
    EXPECT_EQ(engine_holds(small), "");
}

TEST_F(Limits, memory_that_runs_out_is_told_from_a_time_limit) {
    const auto small =
        api().running({{"resources", {{"cpu_millis", 1000}, {"memory_mib", 64}, {"disk_mib", 64}, {"pids", 64}}}});
    const auto ended = api().run(small, {"sh", "-c", "tail -c 200000000 /dev/zero; exit $?"});
    EXPECT_EQ(ended["output"]["oom_killed"], true) << ended.dump().substr(0, 500);
    EXPECT_EQ(ended["output"]["timed_out"], false);
    EXPECT_EQ(api().run(small, {"echo", "next"})["output"]["stdout"], "next\n");
    EXPECT_EQ(api().destroy(small)["state"], "succeeded");
}

TEST_F(Limits, processes_that_run_out_are_named_and_the_next_exec_works) {
    const auto small =
        api().running({{"resources", {{"cpu_millis", 1000}, {"memory_mib", 128}, {"disk_mib", 64}, {"pids", 32}}}});
    const auto bomb = api().exec(
        small, {{"argv", {"sh", "-c", "f() { f | f & }; f; sleep 1; f | f; sleep 30"}}, {"timeout_seconds", 4}});
    EXPECT_EQ(bomb["state"], "failed");
    EXPECT_THAT(bomb["error"].get<std::string>() + bomb["output"]["stderr"].get<std::string>(),
                testing::AnyOf(HasSubstr("process"), HasSubstr("fork"), HasSubstr("pids")));
    EXPECT_TRUE(eventually(20s, [&] { return api().run(small, {"echo", "next"})["output"]["stdout"] == "next\n"; }));
    EXPECT_EQ(api().destroy(small)["state"], "succeeded");
}

TEST(Lease, a_command_longer_than_its_lease_runs_once) {
    Daemon daemon({.variables = {{"SANDBOX__SERVER__ASSIGNMENT_LEASE_SECONDS", "5"}}});
    Api api(daemon.address());
    const auto id = api.running();
    const auto ended = api.run(id, {"sh", "-c", "echo x >> /workspace/n; sleep 20"});
    EXPECT_EQ(ended["state"], "succeeded");
    EXPECT_EQ(api.run(id, {"cat", "/workspace/n"})["output"]["stdout"], "x\n");
    EXPECT_EQ(api.destroy(id)["state"], "succeeded");
}

TEST(Expiry, comes_within_two_seconds_of_its_time) {
    Daemon daemon;
    Api api(daemon.address());
    const auto id = api.running({{"ttl_seconds", 30}});
    EXPECT_EQ(api.sandbox(id)["state"], "running");
    EXPECT_TRUE(eventually(36s, [&] { return api.sandbox(id)["state"] == "stopped"; })) << api.sandbox(id).dump();
    EXPECT_EQ(engine_holds(id), "");
}

}  // namespace
}  // namespace sandbox::test
