#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sandbox/runtime/docker.hpp>

#include "docker/engine.hpp"
#include "support/runtime_test.hpp"

namespace sandbox::test {

inline constexpr const char* kBusybox = "sandbox-base-busybox:local";

/// A Docker runtime on the machine's engine, as a worker of its own with a fresh node id. What a test makes goes with
/// it, and TearDown looks whether anything stayed.
class DockerTest : public RuntimeTest {
protected:
    explicit DockerTest(const std::string& engine = usual_engine());

    /// DOCKER_HOST, or where engines usually listen.
    static std::string usual_engine();
    void SetUp() override;
    void TearDown() override;

    /// A small sandbox with the shell image.
    [[nodiscard]] static domain::SandboxSpec small();
    Result<void> create(domain::SandboxId id, const domain::SandboxSpec& spec = small());
    /// A running sandbox; the test fails without.
    [[nodiscard]] domain::SandboxId running(const domain::SandboxSpec& spec = small());

    Result<runtime::ExecResult> exec(domain::SandboxId id, domain::Command command,
                                     std::size_t max_output_bytes = 1024 * 1024);
    Result<runtime::ExecResult> exec(domain::SandboxId id, std::vector<std::string> argv);
    /// Runs a line of shell; its standard output, and a failure of the test when it fails.
    std::string shell(domain::SandboxId id, const std::string& line);

    /// A second worker process on the same node, as after a restart: forgets the first, which is stopped.
    void restart_worker();
    [[nodiscard]] runtime::DockerSettings settings() const;

    /// Names of what the engine holds of this node: containers and volumes.
    std::vector<std::string> held();

    http::Url engine_address_;
    domain::NodeId node_;
    runtime::docker::Engine engine_;
    std::vector<domain::SandboxId> made_;
    std::vector<std::string> phases_;
    std::string restricted_network_;

private:
    void remove_network(const std::string& name);
};

[[nodiscard]] domain::Command command(std::vector<std::string> argv);
[[nodiscard]] domain::Command shell_command(std::string line);

}  // namespace sandbox::test
