#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/http_call.hpp"
#include "support/process.hpp"

namespace sandbox::test {

using nlohmann::json;
using namespace std::chrono_literals;

inline constexpr const char* kImage = "sandbox-base-busybox:local";

/// One server as these tests talk to it: every call waits for its operation's end.
class Api {
public:
    explicit Api(std::string address) : address_(std::move(address)) {}

    [[nodiscard]] Reply get(const std::string& target) const { return call(address_, "GET", target); }
    /// Creates a small sandbox with changes to its spec, and answers when the create has ended: {sandbox, operation}.
    [[nodiscard]] json create(const json& changes = json::object()) const;
    /// The id of a sandbox that runs.
    [[nodiscard]] std::string running(const json& changes = json::object()) const;
    /// The ended operation of one command. `command` has argv and whatever else it needs.
    [[nodiscard]] json exec(const std::string& id, const json& command) const;
    [[nodiscard]] json run(const std::string& id, std::vector<std::string> argv) const {
        return exec(id, json{{"argv", argv}});
    }
    /// The operation as it was enqueued.
    [[nodiscard]] json enqueue(const std::string& id, const json& command) const;
    [[nodiscard]] json wait(const std::string& operation) const;
    [[nodiscard]] json destroy(const std::string& id) const;
    [[nodiscard]] json sandbox(const std::string& id) const { return get("/v1/sandboxes/" + id).json(); }
    [[nodiscard]] json node() const { return get("/v1/nodes").json()["nodes"][0]; }
    [[nodiscard]] const std::string& address() const noexcept { return address_; }

private:
    std::string address_;
};

/// A daemon for the whole suite and a sandbox with a shell for each test.
class Lifecycle : public testing::Test {
protected:
    static void SetUpTestSuite() { daemon_ = std::make_unique<Daemon>(); }
    static void TearDownTestSuite() { daemon_.reset(); }
    void SetUp() override { x_ = api().running(); }
    void TearDown() override { EXPECT_EQ(api().destroy(x_)["state"], "succeeded"); }

    [[nodiscard]] static Api api() { return Api(daemon_->address()); }
    [[nodiscard]] const std::string& x() const noexcept { return x_; }
    [[nodiscard]] json exec(const json& command) const { return api().exec(x_, command); }
    [[nodiscard]] json sh(const std::string& script, int timeout_seconds = 60) const {
        return exec({{"argv", {"sh", "-c", script}}, {"timeout_seconds", timeout_seconds}});
    }
    /// What ps shows of the sandbox's processes.
    [[nodiscard]] std::string processes() const { return sh("ps -o args")["output"]["stdout"].get<std::string>(); }
    /// The real command, with this input.
    [[nodiscard]] Ended cli(std::vector<std::string> arguments, std::string input = {}) const;

    static std::unique_ptr<Daemon> daemon_;

private:
    std::string x_;
};

/// Resident memory of a process, in MiB.
[[nodiscard]] double resident_mib(pid_t pid);
/// What the engine holds of a sandbox: its containers and volumes, one name per line.
[[nodiscard]] std::string engine_holds(const std::string& sandbox_id);

}  // namespace sandbox::test
