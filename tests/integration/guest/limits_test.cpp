// The sandbox's limits, and that thousands of execs leave nothing behind.
#include <thread>

#include <gtest/gtest.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

using namespace std::chrono_literals;

TEST(Limits, a_thousand_execs_leave_nothing) {
    Sandbox sandbox;
    Host host(sandbox);
    for (int i = 0; i < 50; ++i) host.shell("exit 0");
    ASSERT_TRUE(host.wait([&] { return sandbox.process_count() == 0; }));
    ASSERT_TRUE(host.settle());
    const auto files = sandbox.open_files();
    const auto memory = sandbox.memory_kib();

    std::vector<std::uint64_t> batch;
    for (int i = 0; i < 1000; ++i) {
        batch.push_back(host.start_shell(i % 2 == 0 ? "echo hi" : "sleep 3 & (setsid sleep 3 &) ; echo hi"));
        if (batch.size() < 40) continue;
        for (const auto id : batch) EXPECT_EQ(host.finish(id).output, "hi\n");
        batch.clear();
    }

    EXPECT_TRUE(host.wait([&] { return sandbox.process_count() == 0; }, 10s)) << sandbox.process_count();
    // What an exec left running is looked after for five seconds, with descriptors of its own.
    EXPECT_TRUE(host.wait([&] { return sandbox.open_files() == files; }, 10s))
        << sandbox.open_files() << ", not " << files;
    EXPECT_LE(sandbox.memory_kib(), memory + 128);
}

// At the limit an exec fails and says so, and when there is room again the next one works.
TEST(Limits, out_of_processes_is_named) {
    Sandbox sandbox({.pids = 12});
    Host host(sandbox);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(host.start({"sleep", "30"}));
    std::size_t refused = 0;
    for (const auto id : ids) {
        ASSERT_TRUE(host.wait([&] { return host.exec(id).started || host.exec(id).done(); }));
        if (!host.exec(id).done()) continue;
        ++refused;
        EXPECT_EQ(host.exec(id).failed->kind, Failure::out_of_processes);
        EXPECT_EQ(host.exec(id).failed->what, "the sandbox's process limit is used up: out of processes");
    }
    EXPECT_GE(refused, 1U);
    for (const auto id : ids) host.kill(id);
    for (const auto id : ids) host.finish(id);

    EXPECT_EQ(host.shell("echo hi").output, "hi\n");
}

// A bomb that stays until its time limit, and one that runs away in sessions.
TEST(Limits, a_fork_bomb_is_named_and_the_next_exec_works) {
    Sandbox sandbox({.pids = 32});
    Host host(sandbox);
    ASSERT_TRUE(host.hello.sees_process_limit);
    for (const auto* bomb :
         {"b() { b | b & }; b; sleep 60", "b() { b | b & b; }; b", "b() { setsid sh -c 'sleep 60' & b; }; b"}) {
        const auto run = host.shell(bomb, {.time_limit_ms = 2000});
        ASSERT_TRUE(run.exited);
        EXPECT_TRUE(run.exited->out_of_processes) << bomb;
        EXPECT_LT(run.took, 3s);
        EXPECT_EQ(host.shell("echo hi").output, "hi\n") << bomb;
        EXPECT_FALSE(host.shell("true").exited->out_of_processes);
        EXPECT_TRUE(host.wait([&] { return sandbox.process_count() == 0; }, 2s)) << bomb;
    }
}

// Its main process ends at once, so it has neither a time limit nor anybody to kill it. All the same it doesn't stay.
TEST(Limits, a_bomb_that_was_left_behind_does_not_stay) {
    Sandbox sandbox({.pids = 32});
    Host host(sandbox);
    for (const auto* bomb : {"b() { b | b & }; b", "b() { b | b & }; (sleep 0.5; b) & exit 0"}) {
        const auto refused_before = sandbox.refused_forks();
        EXPECT_LT(host.shell(bomb).took, 1s);
        EXPECT_TRUE(host.wait([&] { return sandbox.refused_forks() > refused_before; }, 2s)) << bomb;
        EXPECT_TRUE(host.wait([&] { return sandbox.process_count() == 0; }, 3s)) << bomb;
        EXPECT_EQ(host.shell("echo hi").output, "hi\n") << bomb;
    }
}

// A server left running is no bomb, also when somebody else's bomb went off meanwhile.
TEST(Limits, a_bomb_takes_no_server_with_it) {
    Sandbox sandbox({.pids = 32});
    Host host(sandbox);
    host.shell("sleep 500 & exit 0");
    const auto bomb = host.start_shell("b() { b | b & b; }; b", {.time_limit_ms = 1000});
    const auto server = host.start_shell("sleep 501 & sleep 0.5");
    host.finish(server);
    host.finish(bomb);

    EXPECT_TRUE(host.wait([&] { return sandbox.commands().size() <= 2; }, 2s));
    EXPECT_EQ(sandbox.commands().front(), "sleep 500 ");
}

TEST(Limits, what_the_memory_limit_killed_is_named) {
    Sandbox sandbox({.memory_bytes = 64 << 20});
    Host host(sandbox);
    ASSERT_TRUE(host.hello.sees_oom_kills);
    const auto fills = host.shell("head -c 200M /dev/zero | tail -c 200M > /dev/null");
    EXPECT_TRUE(fills.exited->oom_killed);
    EXPECT_FALSE(fills.exited->timed_out);
    EXPECT_EQ(fills.code(), 137);

    const auto child = host.shell("head -c 200M /dev/zero | tail -c 200M > /dev/null; echo went on");
    EXPECT_TRUE(child.exited->oom_killed);
    EXPECT_EQ(child.output, "went on\n");

    EXPECT_FALSE(host.shell("echo hi").exited->oom_killed);
}

// The memory limit rather takes any command than the guest, whose end would be the sandbox's.
TEST(Limits, commands_are_likelier_victims_than_the_guest) {
    Sandbox sandbox;
    Host host(sandbox);
    EXPECT_EQ(host.shell("cat /proc/self/oom_score_adj; cat /proc/1/oom_score_adj").output, "500\n0\n");
}

}  // namespace
}  // namespace sandbox::guest::test
