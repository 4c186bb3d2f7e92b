#include <support/run_task.hpp>

#include <gtest/gtest.h>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task_group.hpp>

namespace sandbox::async {
namespace {

using namespace std::chrono_literals;

Task<void> wait_for(Signal& signal, int& ended) {
    struct Count {
        int& ended;
        ~Count() { ++ended; }
    } count{ended};
    co_await signal.wait(Deadline::max());
}

class TaskGroupTest : public testing::Test {
protected:
    asio::io_context io_{1};
    Signal signal_;
    int ended_ = 0;
    TaskGroup group_{io_.get_executor()};
};

TEST_F(TaskGroupTest, join_waits_for_tasks_that_end_by_themselves) {
    group_.spawn("one", wait_for(signal_, ended_));
    group_.spawn("two", wait_for(signal_, ended_));
    test::settle(io_);
    EXPECT_EQ(group_.running(), 2u);

    signal_.notify_all();

    EXPECT_TRUE(test::run(io_, group_.join(in(1s))));
    EXPECT_EQ(ended_, 2);
    EXPECT_EQ(group_.running(), 0u);
}

TEST_F(TaskGroupTest, join_gives_up_at_the_deadline) {
    group_.spawn("stuck", wait_for(signal_, ended_));
    EXPECT_FALSE(test::run(io_, group_.join(in(2ms))));
    group_.cancel();
    EXPECT_TRUE(test::run(io_, group_.join(in(1s))));
}

TEST_F(TaskGroupTest, cancel_ends_every_task_and_those_that_come_later_do_not_begin) {
    group_.spawn("before", wait_for(signal_, ended_));
    test::settle(io_);
    group_.cancel();
    group_.spawn("after", wait_for(signal_, ended_));

    EXPECT_TRUE(test::run(io_, group_.join(in(1s))));
    EXPECT_EQ(ended_, 1);
}

TEST_F(TaskGroupTest, a_task_that_throws_ends_alone) {
    auto fails = []() -> Task<void> {
        throw std::runtime_error("made to fail");
        co_return;
    };
    group_.spawn("fails", fails());
    group_.spawn("stays", wait_for(signal_, ended_));
    test::settle(io_);
    EXPECT_EQ(group_.running(), 1u);
    group_.cancel();
    EXPECT_TRUE(test::run(io_, group_.join(in(1s))));
}

TEST(TaskGroupDeathTest, going_away_with_a_running_task_is_a_broken_invariant) {
    auto forget = [] {
        asio::io_context io(1);
        Signal signal;
        int ended = 0;
        TaskGroup group(io.get_executor());
        group.spawn("forgotten", wait_for(signal, ended));
    };
    EXPECT_DEATH(forget(), "forgotten");
}

TEST(TaskGroup, outlives_a_context_that_was_destroyed_with_its_tasks) {
    Signal signal;
    int ended = 0;
    auto io = std::make_unique<asio::io_context>(1);
    TaskGroup group(io->get_executor());
    group.spawn("lost", wait_for(signal, ended));
    test::settle(*io);
    io.reset();
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(group.running(), 0u);
}

}  // namespace
}  // namespace sandbox::async
