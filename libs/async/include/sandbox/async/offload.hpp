#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/async/task.hpp>

namespace sandbox::async {

/// Runs a blocking function on a thread of the pool and resumes where it was awaited. What the function throws is
/// thrown here. `function` must own what it uses: the awaiting task may be cancelled only after it has returned.
template <class F>
Task<std::invoke_result_t<F&>> offload(asio::thread_pool& pool, F function) {
    auto on_pool = [](F f) -> Task<std::invoke_result_t<F&>> { co_return f(); };
    auto task = on_pool(std::move(function));
    co_return co_await asio::co_spawn(pool, std::move(task), asio::use_awaitable);
}

}  // namespace sandbox::async
