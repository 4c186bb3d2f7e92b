// A long command stands in nobody's way, and is stopped by whoever started it.
#include <algorithm>
#include <csignal>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp_fixture.hpp"

namespace sandbox::test {
namespace {

class Cancel : public McpTest {
protected:
    /// A command of a minute under way; its request's id.
    int long_command(const std::string& id, const json& meta = json::object()) {
        const int request =
            bridge.request("tools/call", {{"name", "sandbox_exec"},
                                          {"arguments", {{"sandbox_id", id}, {"argv", {"sleep", "60"}}}},
                                          {"_meta", meta}});
        operation = running_command(id);
        return request;
    }
    /// Whether a process of that name runs in the sandbox.
    bool runs(const std::string& id, const std::string& name) {
        const auto result = exec(id, "ps -o args | grep -c '^" + name + "' || true");
        return result["structuredContent"]["operation"]["output"]["stdout"] != "0\n";
    }

    json operation;
};

TEST_F(Cancel, ping_and_other_calls_are_answered_while_a_command_runs) {
    const auto id = sandbox();
    long_command(id);

    std::vector<std::chrono::steady_clock::duration> times;
    for (int i = 0; i < 21; ++i) {
        const auto start = std::chrono::steady_clock::now();
        EXPECT_EQ(bridge.result("ping"), json::object());
        times.push_back(std::chrono::steady_clock::now() - start);
    }
    std::ranges::sort(times);
    EXPECT_LE(times[10], 50ms) << "the median of 21";
    EXPECT_EQ(exec(id, "echo beside")["structuredContent"]["operation"]["output"]["stdout"], "beside\n");
    EXPECT_EQ(get("/v1/operations/" + operation["id"].get<std::string>())["operation"]["state"], "running");
}

TEST_F(Cancel, a_cancelled_call_kills_its_command_and_is_not_answered) {
    const auto id = sandbox();
    const int request = long_command(id);
    EXPECT_TRUE(runs(id, "sleep 60"));

    bridge.notify("notifications/cancelled",
                  {{"requestId", request}, {"reason", std::string("no longer\0wanted", 16)}});

    const auto end = ended(operation);
    EXPECT_EQ(end["state"], "failed");
    EXPECT_EQ(end["output"]["exit_code"], 137);
    EXPECT_FALSE(runs(id, "sleep 60"));
    // Twice more: what is unknown by now is ignored.
    EXPECT_TRUE(
        bridge
            .said_to(
                json{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", request}}}}
                    .dump() +
                "\n")
            .empty());
}

TEST_F(Cancel, the_end_of_input_stops_commands_and_the_program) {
    const auto id = sandbox();
    long_command(id);

    bridge.process().close_input();

    EXPECT_EQ(bridge.process().wait(10s), 0);
    EXPECT_FALSE(bridge.process().read_line(10s)) << "no answer";
    EXPECT_EQ(ended(operation)["output"]["exit_code"], 137);
}

TEST_F(Cancel, a_signal_stops_commands_and_the_program) {
    const auto id = sandbox();
    long_command(id);

    bridge.process().signal(SIGTERM);

    EXPECT_EQ(bridge.process().wait(10s), 0);
    EXPECT_EQ(ended(operation)["output"]["exit_code"], 137);
}

// The command is asked for and the client is gone at once: its operation has no id here yet.
TEST_F(Cancel, a_command_that_was_just_asked_for_is_stopped_too) {
    const auto id = sandbox();
    bridge.call_tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"sleep", "60"}}});
    bridge.process().close_input();
    EXPECT_EQ(bridge.process().wait(10s), 0);

    for (const auto& one : operations_of(id))
        if (one["kind"] == "exec") EXPECT_EQ(ended(one)["state"], "failed");
}

/// A registry that takes connections and never says a word: a pull from it lasts.
class SilentRegistry {
public:
    SilentRegistry() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
        ::listen(listener_, 16);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        image_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/never:latest";
    }
    ~SilentRegistry() { ::close(listener_); }
    SilentRegistry(const SilentRegistry&) = delete;
    SilentRegistry& operator=(const SilentRegistry&) = delete;
    [[nodiscard]] const std::string& image() const noexcept { return image_; }

private:
    int listener_;
    std::string image_;
};

// Nobody has heard of the sandbox: it would take room until it expires.
TEST_F(Cancel, a_cancelled_create_is_taken_back) {
    const SilentRegistry registry;
    const int request = bridge.call_tool("sandbox_create", small({{"image", registry.image()}}));
    json list;
    ASSERT_TRUE(eventually(60s, [&] {
        list = get("/v1/sandboxes?tenant=" + tenant())["sandboxes"];
        return list.size() == 1 && list[0]["state"] == "creating";
    }));

    bridge.notify("notifications/cancelled", {{"requestId", request}});

    const auto id = list[0]["id"].get<std::string>();
    EXPECT_TRUE(eventually(60s, [&] { return get("/v1/sandboxes/" + id)["state"] == "stopped"; }));
    EXPECT_EQ(bridge.result("ping"), json::object());
}

TEST_F(Cancel, a_wait_that_is_cancelled_leaves_its_operation_alone) {
    const auto id = sandbox();
    const auto started = bridge.tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"sleep", "3"}}, {"wait", false}});
    const auto started_operation = started["structuredContent"]["operation"];
    const int request = bridge.call_tool("sandbox_wait", {{"operation_id", started_operation["id"]}});
    bridge.notify("notifications/cancelled", {{"requestId", request}});
    EXPECT_EQ(ended(started_operation)["state"], "succeeded");
    bridge.result("ping");
}

TEST_F(Cancel, progress_grows_says_the_phase_and_ends_with_the_answer) {
    const auto id = sandbox();
    const int request = bridge.request("tools/call", {{"name", "sandbox_exec"},
                                                      {"arguments", {{"sandbox_id", id}, {"argv", {"sleep", "3"}}}},
                                                      {"_meta", {{"progressToken", "token-1"}}}});
    EXPECT_EQ(bridge.answer_to(request)["result"]["isError"], false);
    const auto before = bridge.notifications();
    ASSERT_GE(before.size(), 2U);
    std::int64_t last = 0;
    for (const auto& one : before) {
        EXPECT_EQ(one["method"], "notifications/progress");
        EXPECT_EQ(one["params"]["progressToken"], "token-1");
        EXPECT_GT(one["params"]["progress"].get<std::int64_t>(), last);
        last = one["params"]["progress"].get<std::int64_t>();
    }
    for (const auto& one : before)
        EXPECT_THAT(one["params"]["message"].get<std::string>(), HasSubstr("running the command: running"));
    exec(id, "sleep 2");
    EXPECT_EQ(bridge.notifications().size(), before.size());
}

}  // namespace
}  // namespace sandbox::test
