#pragma once

#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/async/task.hpp>

namespace sandbox::async {

/// Runs the task to its end although its caller is cancelled meanwhile; the caller then resumes with the result, and
/// its next wait throws as usual. For short work whose result must not get lost. T must be default-constructible.
template <class T>
Task<T> shielded(Task<T> task) {
    co_return co_await asio::co_spawn(co_await asio::this_coro::executor, std::move(task),
                                      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace sandbox::async
