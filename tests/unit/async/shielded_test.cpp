#include <support/run_task.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <sandbox/async/shielded.hpp>

namespace sandbox::async {
namespace {

using namespace std::chrono_literals;

Task<int> after(std::chrono::milliseconds time, int value) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
    co_return value;
}

TEST(Shielded, ends_although_its_caller_is_cancelled) {
    asio::io_context io;
    asio::cancellation_signal cancel;
    int result = 0;
    bool waited_again = false;
    auto caller = [](int& got, bool& again) -> Task<void> {
        got = co_await shielded(after(20ms, 7));
        co_await after(1ms, 0);
        again = true;
    };
    std::exception_ptr failure;
    asio::co_spawn(io, caller(result, waited_again),
                   asio::bind_cancellation_slot(cancel.slot(), [&](const std::exception_ptr& end) { failure = end; }));
    asio::post(io, [&] { cancel.emit(asio::cancellation_type::terminal); });
    io.run();

    EXPECT_EQ(result, 7);
    EXPECT_FALSE(waited_again);
    EXPECT_TRUE(failure);
}

}  // namespace
}  // namespace sandbox::async
