#pragma once

#include <exception>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>

namespace sandbox::sandboxd {

/// A runtime's call with its exceptions as errors, so that whatever it does the worker goes on. Cancellation passes.
template <class T>
Task<Result<T>> contained(Task<Result<T>> call) {
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    try {
        co_return co_await std::move(call);
    } catch (const boost::system::system_error& error) {
        if (cancellation.cancelled() != asio::cancellation_type::none) throw;
        co_return fail(Code::internal, error.what());
    } catch (const std::exception& error) {
        co_return fail(Code::internal, error.what());
    }
}

}  // namespace sandbox::sandboxd
