#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/base/random.hpp>
#include <sandbox/runtime/external.hpp>

#include "support/process.hpp"
#include "support/run_task.hpp"

namespace sandbox::test {

/// An external runtime over a driver of the test's choice. Everything that a driver starts carries a mark in its
/// environment, and TearDown looks whether anything that does still runs.
class DriverTest : public ::testing::Test {
protected:
    DriverTest();
    void TearDown() override;

    /// One of tests/fixtures/drivers.
    [[nodiscard]] static std::string fixture(const std::string& name);
    /// A file of the project.
    [[nodiscard]] static std::string source(const std::string& path);
    /// A driver of this test's own: the body of a shell script, which has the request in $request.
    [[nodiscard]] std::string script(const std::string& body);
    /// The runtime with this driver, and settings_ otherwise.
    runtime::Runtime& use(const std::string& driver);

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
    /// Lets the runtime work until the condition holds.
    bool eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition);

    [[nodiscard]] domain::SandboxId new_id();
    [[nodiscard]] domain::OperationId new_operation();
    /// The driver's state directory.
    [[nodiscard]] std::string state() const { return state_.path(); }
    /// The text of a file there; empty when there is none.
    [[nodiscard]] std::string written(const std::string& name) const;
    /// How many processes of any driver of this test run, in whatever session.
    [[nodiscard]] std::size_t left() const;

    TemporaryDirectory state_;
    asio::io_context io_{1};
    SystemRandom random_;
    runtime::ExternalSettings settings_;
    std::unique_ptr<runtime::Runtime> runtime_;

private:
    std::string mark_;
};

[[nodiscard]] domain::SandboxSpec any_spec();
[[nodiscard]] domain::Command command(std::vector<std::string> argv);

}  // namespace sandbox::test
