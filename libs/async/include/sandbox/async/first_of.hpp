#pragma once

#include <exception>
#include <utility>
#include <variant>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <sandbox/async/task.hpp>

namespace sandbox::async {

/// Runs both side by side until one has ended well, cancels the other and waits for its end. A void task's place in the
/// variant is monostate. What one throws is kept until the other has ended too: give it tasks that return a Result.
/// A cancelled caller gets operation_aborted, as from any other wait, whichever way the two noticed.
template <class A, class B>
auto first_of(Task<A> a, Task<B> b)
    -> decltype(asio::experimental::awaitable_operators::operator||(std::move(a), std::move(b))) {
    using namespace asio::experimental::awaitable_operators;
    auto both = std::move(a) || std::move(b);
    std::exception_ptr failure;
    try {
        auto first = co_await std::move(both);
        if ((co_await asio::this_coro::cancellation_state).cancelled() == asio::cancellation_type::none)
            co_return first;
        failure = std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
    } catch (const asio::multiple_exceptions& thrown) {
        failure = thrown.first_exception();
    }
    std::rethrow_exception(failure);
}

}  // namespace sandbox::async
