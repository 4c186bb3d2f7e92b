#include <support/run_task.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <sandbox/async/clock.hpp>

namespace sandbox::async {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kStart{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}};

class ManualClockTest : public testing::Test {
protected:
    void sleep(std::chrono::seconds until) {
        auto task = [](ManualClockTest& test, Timestamp due) -> Task<void> {
            co_await test.clock_.sleep_until(due);
            test.woken_.push_back(due - kStart);
        };
        asio::co_spawn(io_, task(*this, kStart + until), asio::detached);
        test::settle(io_);
    }
    void advance(std::chrono::microseconds by) {
        clock_.advance(by);
        test::settle(io_);
    }

    asio::io_context io_{1};
    ManualClock clock_{kStart};
    std::vector<Timestamp::duration> woken_;
};

TEST_F(ManualClockTest, stands_until_it_is_moved) {
    EXPECT_EQ(clock_.now(), kStart);
    clock_.advance(1500ms);
    EXPECT_EQ(clock_.now(), kStart + 1500ms);
}

TEST_F(ManualClockTest, wakes_only_the_sleepers_that_are_due) {
    sleep(10s);
    sleep(20s);

    advance(10s - 1us);
    EXPECT_TRUE(woken_.empty());
    advance(1us);
    EXPECT_EQ(woken_, (std::vector<Timestamp::duration>{10s}));
    advance(1h);
    EXPECT_EQ(woken_, (std::vector<Timestamp::duration>{10s, 20s}));
}

TEST_F(ManualClockTest, does_not_wait_for_a_time_that_has_passed) {
    sleep(0s);
    EXPECT_EQ(woken_.size(), 1u);
}

TEST_F(ManualClockTest, a_cancelled_sleeper_throws_operation_aborted_and_is_forgotten) {
    asio::cancellation_signal cancel;
    boost::system::error_code seen;
    auto done = [&](const std::exception_ptr& failure) {
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const boost::system::system_error& error) {
            seen = error.code();
        }
    };
    asio::co_spawn(io_, clock_.sleep_until(kStart + 5s), asio::bind_cancellation_slot(cancel.slot(), done));
    test::settle(io_);

    cancel.emit(asio::cancellation_type::terminal);
    test::settle(io_);

    EXPECT_EQ(seen, asio::error::operation_aborted);
    advance(10s);  // must not touch the sleeper that is gone
}

TEST(SystemClockTest, sleeps_until_the_time_has_come) {
    SystemClock clock;
    auto due = clock.now() + 5ms;
    test::run(clock.sleep_until(due));
    EXPECT_GE(clock.now(), due);
}

}  // namespace
}  // namespace sandbox::async
