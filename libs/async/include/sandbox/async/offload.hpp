#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/async/task.hpp>

namespace sandbox::async {

/// Runs a blocking function on a thread of the pool and resumes where it was awaited. What the function throws is
/// thrown here. `function` must own what it uses. A cancelled task still waits until the function has returned.
/// Join the pool before the io_context of the awaiting task is destroyed.
template <class F>
Task<std::invoke_result_t<F&>> offload(asio::thread_pool& pool, F function) {
    using T = std::invoke_result_t<F&>;
    using Kept = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

    // Not co_spawn: that one lets the pool's thread release the io_context's work count after the task has already
    // resumed, when the context may be gone, and wants a T that can be made from nothing.
    auto initiate = [&pool](auto handler, F f) {
        auto here = asio::prefer(asio::get_associated_executor(handler), asio::execution::outstanding_work.tracked);
        asio::post(pool, [handler = std::move(handler), f = std::move(f), here = std::move(here)]() mutable {
            std::exception_ptr failure;
            std::optional<Kept> result;
            try {
                if constexpr (std::is_void_v<T>) {
                    f();
                    result.emplace();
                } else {
                    result.emplace(f());
                }
            } catch (...) {
                failure = std::current_exception();
            }
            auto target = asio::prefer(here, asio::execution::outstanding_work.untracked);
            asio::post(target, [handler = std::move(handler), failure = std::move(failure), result = std::move(result),
                                work = std::move(here)]() mutable {
                std::move(handler)(std::move(failure), std::move(result));
            });
        });
    };
    auto result =
        co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, std::optional<Kept>)>(
            std::move(initiate), asio::use_awaitable, std::move(function));
    if constexpr (!std::is_void_v<T>) co_return std::move(*result);
}

}  // namespace sandbox::async
