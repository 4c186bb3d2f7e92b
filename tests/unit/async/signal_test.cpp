#include <support/run_task.hpp>
#include <thread>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gtest/gtest.h>

#include <sandbox/async/signal.hpp>

namespace sandbox::async {
namespace {

using namespace std::chrono_literals;

class SignalTest : public testing::Test {
protected:
    struct Outcome {
        std::optional<bool> notified;
        bool cancelled = false;
        asio::cancellation_signal cancel;  // a slot is one task's own
    };

    // Starts a waiter; what became of it stands in the outcome.
    std::shared_ptr<Outcome> wait(Deadline deadline) {
        auto outcome = std::make_shared<Outcome>();
        auto done = [outcome](const std::exception_ptr& failure, bool notified) {
            if (failure)
                outcome->cancelled = true;
            else
                outcome->notified = notified;
        };
        asio::co_spawn(io_, signal_->wait(deadline), asio::bind_cancellation_slot(outcome->cancel.slot(), done));
        test::settle(io_);
        return outcome;
    }

    asio::io_context io_{1};
    std::optional<Signal> signal_{std::in_place};
};

TEST_F(SignalTest, notify_wakes_all_who_wait_now) {
    auto first = wait(in(1h));
    auto second = wait(Deadline::max());
    EXPECT_EQ(signal_->waiting(), 2u);

    signal_->notify_all();
    EXPECT_EQ(signal_->waiting(), 0u);
    test::settle(io_);

    EXPECT_EQ(first->notified, true);
    EXPECT_EQ(second->notified, true);
}

TEST_F(SignalTest, who_comes_after_the_notify_waits_for_the_next) {
    signal_->notify_all();
    auto late = wait(in(1h));
    EXPECT_EQ(late->notified, std::nullopt);
    signal_->notify_all();
    test::settle(io_);
    EXPECT_EQ(late->notified, true);
}

TEST_F(SignalTest, the_deadline_gives_false) {
    EXPECT_FALSE(test::run(io_, signal_->wait(in(1ms))));
}

// A deadline that has passed and a notify can both be in the queue: what counts is that there was something.
TEST_F(SignalTest, a_notify_beats_a_deadline_that_has_just_passed) {
    auto waiter = wait(in(1ms));
    std::this_thread::sleep_for(2ms);
    signal_->notify_all();
    test::settle(io_);
    EXPECT_EQ(waiter->notified, true);
}

TEST_F(SignalTest, a_waiter_outlives_the_signal_as_if_timed_out) {
    auto waiter = wait(in(1h));
    signal_.reset();
    test::settle(io_);
    EXPECT_EQ(waiter->notified, false);
}

TEST_F(SignalTest, a_cancelled_waiter_throws_and_is_forgotten) {
    auto waiter = wait(in(1h));
    waiter->cancel.emit(asio::cancellation_type::terminal);
    test::settle(io_);
    EXPECT_TRUE(waiter->cancelled);
    EXPECT_EQ(signal_->waiting(), 0u);
}

}  // namespace
}  // namespace sandbox::async
