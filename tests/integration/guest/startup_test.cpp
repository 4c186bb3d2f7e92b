// The start-up command: started once, left alone, its end and the last of its output kept.
#include <gtest/gtest.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

using namespace std::chrono_literals;

class Startup : public testing::Test {
protected:
    void start(std::vector<std::string> argv) {
        host.command_failed.reset();
        std::string frames;
        ASSERT_TRUE(append_start(frames, 0, {.argv = std::move(argv), .env = {"MODE=fast"}}));
        host.send_raw(frames);
        ASSERT_TRUE(host.wait([&] { return host.command_started || host.command_failed; }));
    }
    CommandStatus ask() {
        host.command.reset();
        host.send(FrameType::query_command, 0);
        EXPECT_TRUE(host.wait([&] { return host.command.has_value(); }));
        return *host.command;
    }

    Sandbox sandbox;
    Host host{sandbox};
};

TEST_F(Startup, runs_on_and_can_be_asked_about) {
    EXPECT_EQ(ask().state, CommandStatus::State::none);
    start({"sh", "-c", "seq 1 5000 >&2; echo ready $MODE >&2; sleep 60"});
    ASSERT_TRUE(host.wait([&] { return ask().tail.ends_with("ready fast\n"); }));

    EXPECT_EQ(ask().state, CommandStatus::State::running);
    EXPECT_EQ(ask().tail.size(), kCommandTail);
}

TEST_F(Startup, its_end_is_told) {
    start({"sh", "-c", "echo gone; exit 9"});
    ASSERT_TRUE(host.wait([&] { return host.command.has_value(); }));

    EXPECT_EQ(host.command->state, CommandStatus::State::ended);
    EXPECT_EQ(host.command->code, 9);
    EXPECT_EQ(host.command->tail, "gone\n");
}

TEST_F(Startup, one_that_can_not_be_started_says_so_and_may_be_tried_again) {
    start({"nonesuch"});
    EXPECT_EQ(host.command_failed->kind, Failure::not_found);
    EXPECT_EQ(ask().state, CommandStatus::State::none);

    start({"sleep", "60"});
    EXPECT_TRUE(host.command_started);
}

// A host that was restarted in the middle of a create sends it again.
TEST_F(Startup, runs_once_and_the_next_host_is_told) {
    start({"sh", "-c", "echo x >> /workspace/n; sleep 60"});
    Host next(sandbox);

    EXPECT_EQ(next.command->state, CommandStatus::State::running);
    std::string frames;
    ASSERT_TRUE(append_start(frames, 0, {.argv = {"sh", "-c", "echo x >> /workspace/n"}}));
    next.send_raw(frames);
    ASSERT_TRUE(next.wait([&] { return next.command_started; }));
    EXPECT_EQ(next.shell("cat n").output, "x\n");
}

// However much it writes, it waits for nobody and the guest keeps only the tail.
TEST_F(Startup, a_loud_one_is_never_held_up) {
    start({"sh", "-c", "head -c 50000000 /dev/zero; echo end"});
    ASSERT_TRUE(host.wait([&] { return host.command.has_value(); }));

    EXPECT_TRUE(host.command->tail.ends_with("end\n"));
    EXPECT_LT(sandbox.memory_kib(), 2048U);
}

}  // namespace
}  // namespace sandbox::guest::test
