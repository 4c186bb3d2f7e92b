// Many calls at once, and calls in line.
#include <set>

#include "mcp_fixture.hpp"

namespace sandbox::test {
namespace {

using Calls = McpTest;

TEST_F(Calls, two_hundred_at_once_are_all_answered_rightly) {
    const auto id = sandbox();
    constexpr int kAll = 200;
    std::map<int, int> numbers;
    std::string lines;
    for (int i = 0; i < kAll; ++i) {
        const json arguments{{"sandbox_id", id}, {"argv", {"echo", std::to_string(i)}}};
        lines += json{{"jsonrpc", "2.0"},
                      {"id", 1000 + i},
                      {"method", "tools/call"},
                      {"params", {{"name", "sandbox_exec"}, {"arguments", arguments}}}}
                     .dump() +
                 "\n";
    }
    bridge.process().write(lines);
    std::set<int> answered;
    for (int i = 0; i < kAll; ++i) {
        const auto answer = bridge.next(2min);
        const int number = answer["id"].get<int>() - 1000;
        EXPECT_EQ(answer["result"]["structuredContent"]["operation"]["output"]["stdout"],
                  std::to_string(number) + "\n");
        EXPECT_TRUE(answered.insert(number).second);
    }
    EXPECT_EQ(answered.size(), 200U);
}

// Sixteen run at once; what is cancelled in line never starts.
TEST_F(Calls, one_that_is_cancelled_in_line_is_never_made) {
    const auto id = sandbox();
    std::vector<int> running;
    for (int i = 0; i < 16; ++i)
        running.push_back(bridge.call_tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"sleep", "60"}}}));
    const int in_line = bridge.call_tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"touch", "/workspace/never"}}});
    ASSERT_TRUE(eventually(60s, [&] { return operations_of(id).size() == 17; })) << "the create and sixteen";

    bridge.notify("notifications/cancelled", {{"requestId", in_line}});
    for (const int request : running) bridge.notify("notifications/cancelled", {{"requestId", request}});

    EXPECT_EQ(exec(id, "test ! -e /workspace/never")["isError"], false);
    EXPECT_EQ(operations_of(id).size(), 18U);
}

TEST_F(Calls, an_id_that_is_still_under_way_can_not_be_used_again) {
    const auto id = sandbox();
    const int request = bridge.call_tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"sleep", "60"}}});
    running_command(id);
    bridge.send({{"jsonrpc", "2.0"}, {"id", request}, {"method", "ping"}});
    EXPECT_EQ(bridge.answer_to(request)["error"]["code"], -32600);
    bridge.notify("notifications/cancelled", {{"requestId", request}});
    bridge.send({{"jsonrpc", "2.0"}, {"id", request}, {"method", "ping"}});
    EXPECT_EQ(bridge.answer_to(request)["result"], json::object());
}

}  // namespace
}  // namespace sandbox::test
