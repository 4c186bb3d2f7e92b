#pragma once

#include <chrono>
#include <string>
#include <support/http_call.hpp>
#include <support/mcp_program.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sandbox::test {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

inline constexpr auto kImage = "sandbox-base-busybox:local";

/// A bridge before one daemon, which all tests of this program share. Each test has a tenant of its own.
class McpTest : public ::testing::Test {
protected:
    static Daemon& daemon() {
        static Daemon one;
        return one;
    }

    explicit McpTest(std::vector<std::string> options = {}, Variables environment = {})
        : bridge(daemon().url(), std::move(options), std::move(environment)) {
        bridge.initialize();
    }
    ~McpTest() override {
        for (const auto& id : made_) call(daemon().address(), "DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60");
    }

    static std::string tenant() { return ::testing::UnitTest::GetInstance()->current_test_info()->name(); }
    static json small(json more = json::object()) {
        json arguments{{"tenant", tenant()}, {"image", kImage}, {"memory_mib", 128}, {"disk_mib", 64}};
        arguments.update(more);
        return arguments;
    }
    /// A running sandbox, deleted with the test.
    std::string sandbox(const json& more = json::object()) {
        const auto result = bridge.tool("sandbox_create", small(more));
        if (result["isError"] == true) throw std::runtime_error(text_of(result));
        owns(result);
        return made_.back();
    }
    /// What the result made is deleted with the test.
    void owns(const json& result) { made_.push_back(result["structuredContent"]["sandbox"]["id"].get<std::string>()); }
    json exec(const std::string& id, const std::string& script) {
        return bridge.tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"sh", "-c", script}}});
    }
    /// The server's own view, past the bridge.
    static json get(const std::string& target) { return call(daemon().address(), "GET", target).json(); }
    static json operations_of(const std::string& sandbox) {
        return get("/v1/operations?sandbox_id=" + sandbox)["operations"];
    }
    /// The newest operation of the sandbox once it is a running command.
    static json running_command(const std::string& sandbox) {
        json found;
        EXPECT_TRUE(eventually(60s, [&] {
            found = operations_of(sandbox)[0];
            return found["kind"] == "exec" && found["state"] == "running";
        }));
        return found;
    }
    static json ended(const json& operation) {
        return get("/v1/operations/" + operation["id"].get<std::string>() + "?wait_seconds=60")["operation"];
    }
    static std::string text_of(const json& result) { return result["content"][0]["text"].get<std::string>(); }

    McpProgram bridge;
    std::vector<std::string> made_;
};

}  // namespace sandbox::test
