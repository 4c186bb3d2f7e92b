#pragma once

#include <chrono>

#include <boost/asio/awaitable.hpp>

namespace sandbox {

namespace asio = boost::asio;

/// A coroutine of this project. Runs on the io thread unless its comment says otherwise.
template <class T>
using Task = asio::awaitable<T>;

/// The moment by which a call must have answered. Monotonic; passed down unchanged.
using Deadline = std::chrono::steady_clock::time_point;

[[nodiscard]] inline Deadline in(std::chrono::steady_clock::duration duration) {
    return std::chrono::steady_clock::now() + duration;
}

}  // namespace sandbox
