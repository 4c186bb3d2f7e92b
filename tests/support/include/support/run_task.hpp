#pragma once

#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <sandbox/async/task.hpp>

namespace sandbox::test {

/// Runs the context until the task has ended, and gives or throws what it did. Other work of the context goes on
/// beside it and is left where it stands. GTest's ASSERT_* does not compile in a coroutine: assert on the result.
template <class T>
T run(asio::io_context& io, Task<T> task) {
    using Kept = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
    std::optional<Kept> result;
    std::exception_ptr failure;
    bool ended = false;
    auto keep = [](Task<T> inner, std::optional<Kept>& out) -> Task<void> {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(inner);
            out.emplace();
        } else {
            out.emplace(co_await std::move(inner));
        }
    };
    asio::co_spawn(io, keep(std::move(task), result), [&](std::exception_ptr e) {
        failure = std::move(e);
        ended = true;
    });
    io.restart();
    while (!ended) {
        if (io.run_one() == 0) throw std::logic_error("the task waits for something that can't happen");
    }
    if (failure) std::rethrow_exception(failure);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// The same on a context of its own, for tasks that bring none.
template <class T>
T run(Task<T> task) {
    asio::io_context io(1);
    return run(io, std::move(task));
}

/// Lets everything run that is ready now, without waiting for timers or sockets.
inline void settle(asio::io_context& io) {
    io.restart();
    io.poll();
}

}  // namespace sandbox::test
