#include <support/run_task.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <sandbox/async/first_of.hpp>

namespace sandbox::async {
namespace {

using namespace std::chrono_literals;

Task<void> pass(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}
Task<int> after(std::chrono::milliseconds time, int value) {
    co_await pass(time);
    co_return value;
}
/// One that notices a cancellation by its result.
Task<int> tell_when_cancelled() {
    co_await asio::this_coro::throw_if_cancelled(false);
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    boost::system::error_code error;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    co_return error ? -1 : 1;
}

TEST(FirstOf, gives_what_ends_first_and_ends_the_other) {
    EXPECT_EQ(std::get<0>(test::run(first_of(after(1ms, 7), pass(1h)))), 7);
    EXPECT_EQ(test::run(first_of(after(1h, 7), pass(1ms))).index(), 1U);
}

// Whichever way the two notice: by an exception, by a result, or one each.
TEST(FirstOf, that_is_cancelled_throws_operation_aborted) {
    asio::io_context io;
    const auto cancelled = [&io](auto task) {
        asio::cancellation_signal cancel;
        boost::system::error_code thrown;
        asio::co_spawn(io, std::move(task),
                       asio::bind_cancellation_slot(cancel.slot(), [&](const std::exception_ptr& failure, const auto&) {
                           try {
                               if (failure) std::rethrow_exception(failure);
                           } catch (const boost::system::system_error& problem) {
                               thrown = problem.code();
                           }
                       }));
        test::settle(io);
        cancel.emit(asio::cancellation_type::terminal);
        test::settle(io);
        return thrown == asio::error::operation_aborted;
    };

    EXPECT_TRUE(cancelled(first_of(after(1h, 1), pass(1h))));
    EXPECT_TRUE(cancelled(first_of(tell_when_cancelled(), pass(1h))));
    EXPECT_TRUE(cancelled(first_of(tell_when_cancelled(), tell_when_cancelled())));
}

}  // namespace
}  // namespace sandbox::async
