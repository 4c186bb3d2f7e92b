// Time limits and kills: everything of the exec is gone within a second, whatever it did to get away; and nothing else.
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

using namespace std::chrono_literals;

class Kill : public testing::Test {
protected:
    bool nothing_left() {
        return host.wait([&] { return sandbox.process_count() == 0; }, 2s);
    }

    Sandbox sandbox;
    Host host{sandbox};
};

constexpr auto kTree = "for i in 1 2; do (while :; do :; done) & done; setsid sleep 999 & sleep 60";

TEST_F(Kill, a_time_limit_ends_the_whole_tree) {
    const auto run = host.shell(kTree, {.time_limit_ms = 2000});

    EXPECT_EQ(run.exited, (Exited{.signal = 9, .timed_out = true}));
    EXPECT_EQ(run.code(), 124);
    EXPECT_GE(run.took, 2s);
    EXPECT_LT(run.took, 3s);
    EXPECT_TRUE(nothing_left());
}

TEST_F(Kill, output_before_the_time_limit_is_there) {
    const auto run = host.shell("seq 1 1000; sleep 60", {.time_limit_ms = 500});

    EXPECT_TRUE(run.exited->timed_out);
    EXPECT_TRUE(run.output.starts_with("1\n2\n"));
    EXPECT_TRUE(run.output.ends_with("\n999\n1000\n"));
}

TEST_F(Kill, a_kill_ends_the_whole_tree) {
    const auto id = host.start_shell(kTree);
    const auto other = host.start_shell("setsid sleep 555 & sleep 2; echo other");
    ASSERT_TRUE(host.wait([&] { return sandbox.process_count() >= 9; }));
    const auto begun = std::chrono::steady_clock::now();
    host.kill(id);
    host.kill(id);
    const auto run = host.finish(id);

    EXPECT_EQ(run.exited, (Exited{.signal = 9, .killed = true}));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 1s);
    EXPECT_EQ(host.finish(other).output, "other\n");
    EXPECT_EQ(sandbox.commands(), std::vector<std::string>{"sleep 555 "});
}

// Orphans of orphans, new sessions, ignored and blocked signals, a stopped process, a subreaper of its own.
TEST_F(Kill, no_way_out) {
    host.shell(R"(printf '#!/bin/sh
trap "" TERM HUP INT
(setsid sh -c "(setsid sleep 901 &) ; (sleep 902 &) ; exit" &)
setsid setsid setsid sleep 903 &
(sleep 904 & kill -STOP $!)
nohup sleep 905 >/dev/null 2>&1 &
exec sleep 906' > /workspace/run; chmod +x /workspace/run)");
    const auto run = host.run({"/workspace/run"}, {.time_limit_ms = 700});

    EXPECT_TRUE(run.exited->timed_out);
    EXPECT_LT(run.took, 1700ms);
    EXPECT_TRUE(nothing_left());
}

// Children that fork as fast as they can.
TEST_F(Kill, a_process_that_runs_away_by_forking) {
    for (int round = 0; round < 3; ++round) {
        const auto run =
            host.shell("run() { (run &) ; exit; }; run & f() { while :; do (sleep 0.01 &); done; }; f & f & sleep 60",
                       {.time_limit_ms = 1000});
        EXPECT_TRUE(run.exited->timed_out);
        EXPECT_LT(run.took, 2s);
        EXPECT_TRUE(nothing_left());
    }
}

TEST_F(Kill, right_after_the_start_and_after_the_end) {
    for (int i = 0; i < 50; ++i) {
        const auto id = host.start_shell("sleep 60");
        host.kill(id);
        const auto run = host.finish(id);
        EXPECT_TRUE(run.exited && run.exited->signal == 9) << i;
    }
    const auto ended = host.start_shell("exit 3");
    EXPECT_EQ(host.finish(ended).code(), 3);
    host.kill(ended);
    EXPECT_EQ(host.shell("echo hi").output, "hi\n");
    EXPECT_TRUE(nothing_left());
}

// A host that wants no more output of it gets its answer all the same.
TEST_F(Kill, without_credit) {
    const auto id = host.start_shell("yes");
    host.exec(id).grant = false;
    ASSERT_TRUE(host.wait([&] { return host.exec(id).output_bytes == Host::kWindow; }));
    const auto begun = std::chrono::steady_clock::now();
    host.kill(id);

    EXPECT_TRUE(host.finish(id).exited->killed);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 1s);
    EXPECT_TRUE(nothing_left());
}

// An exec whose time is up while its main process had ended by itself has not timed out.
TEST_F(Kill, an_end_before_the_limit_is_no_time_out) {
    const auto run = host.shell("sleep 5 & exit 4", {.time_limit_ms = 150});

    EXPECT_EQ(run.exited, Exited{.code = 4});
}

// A command may kill and stop all that its user may; the guest still answers, and knows the right status.
TEST_F(Kill, a_command_that_kills_everything_it_can) {
    const auto run = host.shell("kill -9 -1; echo alive; exit 5");

    EXPECT_EQ(run.output, "alive\n");
    EXPECT_EQ(run.exited, Exited{.code = 5});
    EXPECT_EQ(host.shell("kill -STOP 1; kill -9 1; kill -TERM 1; kill -CHLD 1; echo hi").output, "hi\n");
}

TEST_F(Kill, a_command_that_kills_its_supervisor_can_still_be_killed) {
    const auto id = host.start_shell("kill -9 $PPID; sleep 777 & sleep 60");
    ASSERT_TRUE(host.wait([&] { return sandbox.process_count() == 3; }));
    host.kill(id);

    EXPECT_TRUE(host.finish(id).exited->killed);
    EXPECT_TRUE(nothing_left());
    EXPECT_TRUE(host.shell("kill -9 $PPID; sleep 60", {.time_limit_ms = 300}).exited->timed_out);
}

TEST_F(Kill, a_stopped_supervisor_goes_on) {
    const auto run = host.shell("kill -STOP $PPID; sleep 60", {.time_limit_ms = 300});

    EXPECT_TRUE(run.exited->timed_out);
    EXPECT_LT(run.took, 1300ms);
}

// Before it is a program it borrows its supervisor's memory, which stands still meanwhile. Processes of the sandbox may
// stop it just then; a PATH of ten thousand folders leaves them time.
TEST_F(Kill, a_command_that_is_stopped_before_it_is_a_program) {
    ASSERT_TRUE(host.wait([&] { return sandbox.has_spare(); }));
    const auto children =
        "/proc/" + std::to_string(sandbox.spare()) + "/task/" + std::to_string(sandbox.spare()) + "/children";
    std::string path = "PATH=";
    for (int i = 0; i < 10'000; ++i) path += "/a:";
    const auto begun = std::chrono::steady_clock::now();
    const auto id = host.start_shell("echo ran >> /workspace/late", {.env = {path + "/bin"}, .time_limit_ms = 300});
    pid_t main = 0;
    EXPECT_TRUE(host.wait([&] { return bool(std::ifstream(children) >> main); }));
    kill(main, SIGSTOP);

    const auto run = host.finish(id);
    EXPECT_TRUE(run.exited->timed_out);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
    EXPECT_TRUE(nothing_left());
    EXPECT_EQ(host.shell("cat /workspace/late 2>&1").code(), 1);
}

// Processes of the sandbox can do to the supervisor that waits for the next exec what they can do to their own.
TEST_F(Kill, the_next_supervisor_may_be_stopped_or_killed) {
    for (const int signal : {SIGSTOP, SIGKILL, SIGTERM}) {
        host.shell("true");
        ASSERT_TRUE(host.wait([&] { return sandbox.has_spare(); }));
        const auto spare = sandbox.spare();
        kill(spare, signal);
        if (signal == SIGKILL) EXPECT_TRUE(host.wait([&] { return kill(spare, 0) != 0; }));
        for (int i = 0; i < 3; ++i) EXPECT_EQ(host.shell("echo hi").output, "hi\n") << signal;
    }
}

// One process serves one command after the other; only what leaves something running keeps it.
TEST_F(Kill, a_supervisor_below_which_nothing_runs_serves_the_next_command) {
    const auto look = [&] { return host.shell("ls /proc/self/fd; cat /proc/self/limits; pwd; umask").output; };
    const auto at_first = look();
    std::set<int> supervisors;
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(host.wait([&] { return sandbox.has_spare(); }));
        supervisors.insert(sandbox.spare());
        // Whatever a command does to itself, its signals and its children, is not the next one's.
        host.shell("cd /; umask 077; ulimit -n 17; trap '' TERM; (exit 3) & wait; kill -9 $$");
    }
    EXPECT_LT(supervisors.size(), 10);
    EXPECT_EQ(look(), at_first);

    ASSERT_TRUE(host.wait([&] { return sandbox.has_spare(); }));
    const auto kept = sandbox.spare();
    host.shell("sleep 777 &");
    ASSERT_TRUE(host.wait([&] { return sandbox.has_spare(); }));
    EXPECT_NE(sandbox.spare(), kept);
    EXPECT_TRUE(host.shell("setsid sleep 888 & sleep 60", {.time_limit_ms = 300}).exited->timed_out);
    EXPECT_TRUE(host.wait([&] { return sandbox.commands() == std::vector<std::string>{"sleep 777 "}; }));
}

// Too much for the supervisor that waits is given to one of its own.
TEST_F(Kill, a_start_of_any_size_finds_its_supervisor) {
    for (const std::size_t size : {100U, 32'000U, 33'000U, 131'000U}) {
        host.shell("true");
        ASSERT_TRUE(host.wait([&] { return sandbox.has_spare(); }));
        const auto run = host.run({"sh", "-c", "echo ${#1}", "sh", std::string(size, 'x')});
        EXPECT_EQ(run.output, std::to_string(size) + "\n");
    }
}

}  // namespace
}  // namespace sandbox::guest::test
