#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/runtime/external.hpp>

#include "support/runtime_test.hpp"

namespace sandbox::test {

/// An external runtime over a driver of the test's choice. Everything that a driver starts carries a mark in its
/// environment, and TearDown looks whether anything that does still runs.
class DriverTest : public RuntimeTest {
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

    /// The driver's state directory.
    [[nodiscard]] std::string state() const { return state_.path(); }
    /// The text of a file there; empty when there is none.
    [[nodiscard]] std::string written(const std::string& name) const;
    /// How many processes of any driver of this test run, in whatever session.
    [[nodiscard]] std::size_t left() const;

    runtime::ExternalSettings settings_;

private:
    std::string mark_;
};

[[nodiscard]] domain::SandboxSpec any_spec();
[[nodiscard]] domain::Command command(std::vector<std::string> argv);

}  // namespace sandbox::test
