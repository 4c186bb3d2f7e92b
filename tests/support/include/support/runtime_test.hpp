#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sandbox/async/clock.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "support/process.hpp"
#include "support/run_task.hpp"

namespace sandbox::test {

/// A runtime on the test's own thread, with a state directory of its own.
class RuntimeTest : public ::testing::Test {
protected:
    /// Runs a task of the runtime to its end, and everything else beside it.
    template <class T>
    T wait(Task<T> task) {
        return run(io_, std::move(task));
    }
    /// Starts a task that goes on beside the test.
    template <class T>
    std::shared_ptr<std::optional<T>> begin(Task<T> task) {
        auto result = std::make_shared<std::optional<T>>();
        auto keep = [](Task<T> inner, std::shared_ptr<std::optional<T>> kept) -> Task<void> {
            *kept = co_await std::move(inner);
        };
        asio::co_spawn(io_, keep(std::move(task), result), asio::detached);
        return result;
    }
    /// Lets the runtime work for that long, or until the condition holds.
    bool eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
        const auto until = in(limit);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > until) return false;
            io_.restart();
            io_.run_one_for(std::chrono::milliseconds(10));
        }
        return true;
    }

    template <class Id>
    [[nodiscard]] Id make_id() {
        return Id::make(async::SystemClock().now(), random_);
    }
    [[nodiscard]] domain::SandboxId new_id() { return make_id<domain::SandboxId>(); }
    [[nodiscard]] domain::OperationId new_operation() { return make_id<domain::OperationId>(); }

    TemporaryDirectory state_;
    asio::io_context io_{1};
    SystemRandom random_;
    std::unique_ptr<runtime::Runtime> runtime_;
};

}  // namespace sandbox::test
