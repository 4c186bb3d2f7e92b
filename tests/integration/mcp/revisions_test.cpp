// Three revisions of the protocol in one process.
#include <support/mcp_program.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::test {
namespace {

using nlohmann::json;

json initialize(McpProgram& bridge, const json& version) {
    return bridge.result(
        "initialize", {{"protocolVersion", version}, {"capabilities", json::object()}, {"clientInfo", json::object()}});
}

TEST(Revisions, initialize_gives_the_named_one_of_the_two_and_the_later_one_for_any_other) {
    const std::pair<const char*, const char*> kCases[] = {
        {"2025-11-25", "2025-11-25"}, {"2025-06-18", "2025-06-18"}, {"2025-03-26", "2025-11-25"},
        {"2024-11-05", "2025-11-25"}, {"2026-07-28", "2025-11-25"}, {"1999-01-01", "2025-11-25"},
        {"", "2025-11-25"},
    };
    for (const auto& [asked, given] : kCases) {
        McpProgram bridge;
        EXPECT_EQ(initialize(bridge, asked)["protocolVersion"], given) << asked;
    }
}

TEST(Revisions, initialize_without_a_version_is_refused_and_can_be_repeated) {
    McpProgram bridge;
    EXPECT_EQ(bridge.error("initialize")["code"], -32602);
    EXPECT_EQ(bridge.error("initialize", {{"protocolVersion", 7}})["code"], -32602);
    EXPECT_EQ(bridge.error("tools/list")["code"], -32602);
    EXPECT_EQ(initialize(bridge, "2025-06-18")["protocolVersion"], "2025-06-18");
}

// The older revisions begin with initialize; whoever asks too soon is told so.
TEST(Revisions, before_initialize_ping_works_and_all_else_is_an_error_never_silence) {
    McpProgram bridge;
    EXPECT_EQ(bridge.result("ping"), json::object());
    for (const auto* method : {"tools/list", "tools/call", "resources/list", "resources/read", "prompts/list",
                               "prompts/get", "completion/complete", "logging/setLevel", "server/discover", "no/such"})
        EXPECT_TRUE(bridge.error(method)["code"].is_number_integer()) << method;
}

TEST(Revisions, initialize_says_what_is_offered_and_instructs_in_ten_lines_at_most) {
    McpProgram bridge;
    const auto result = initialize(bridge, "2025-11-25");

    EXPECT_EQ(result["capabilities"],
              json::parse(R"({"tools":{"listChanged":false},"resources":{"subscribe":false,"listChanged":false},
                              "prompts":{"listChanged":false},"completions":{},"logging":{}})"));
    EXPECT_EQ(result["serverInfo"]["name"], "sandbox-mcp");
    const auto instructions = result["instructions"].get<std::string>();
    EXPECT_LE(std::ranges::count(instructions, '\n'), 9);
    for (const auto* word : {"sandbox_create", "sandbox_delete", "untrusted"})
        EXPECT_THAT(instructions, ::testing::HasSubstr(word));
}

TEST(Revisions, a_request_that_names_2026_07_28_needs_no_initialize) {
    McpProgram bridge;
    const auto discovered = bridge.result("server/discover", july_2026());
    EXPECT_EQ(discovered["supportedVersions"], json::array({"2026-07-28"}));
    EXPECT_EQ(discovered["resultType"], "complete");
    EXPECT_FALSE(discovered["capabilities"].contains("logging"));
    EXPECT_TRUE(discovered["capabilities"].contains("completions"));
    EXPECT_TRUE(discovered["instructions"].is_string());
    EXPECT_EQ(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sandbox-mcp");

    EXPECT_EQ(bridge.error("tools/list")["code"], -32602) << "not without its _meta";
}

TEST(Revisions, results_of_2026_07_28_say_that_they_are_complete_and_how_long_they_keep) {
    McpProgram bridge;
    const json uri{{"uri", "sandbox://workflow"}};
    const std::pair<const char*, json> kCached[] = {{"tools/list", json::object()},
                                                    {"resources/list", json::object()},
                                                    {"resources/templates/list", json::object()},
                                                    {"prompts/list", json::object()},
                                                    {"resources/read", uri},
                                                    {"server/discover", json::object()}};
    for (const auto& [method, params] : kCached) {
        const auto result = bridge.result(method, july_2026(params));
        EXPECT_EQ(result["resultType"], "complete") << method;
        EXPECT_GT(result["ttlMs"], 0) << method;
        EXPECT_EQ(result["cacheScope"], "private") << method;
    }
    const auto called = bridge.result("tools/call", july_2026({{"name", "sandbox_agent_list"}}));
    EXPECT_EQ(called["resultType"], "complete");
    EXPECT_FALSE(called.contains("ttlMs"));
}

TEST(Revisions, results_of_the_older_ones_carry_none_of_that) {
    McpProgram bridge;
    bridge.initialize();
    for (const auto* method : {"tools/list", "prompts/list", "resources/list"}) {
        const auto result = bridge.result(method);
        for (const auto* member : {"resultType", "ttlMs", "cacheScope", "_meta"})
            EXPECT_FALSE(result.contains(member)) << method << " " << member;
    }
}

TEST(Revisions, one_connection_may_mix_them) {
    McpProgram bridge;
    bridge.initialize("2025-06-18");
    EXPECT_TRUE(bridge.result("tools/list", july_2026()).contains("resultType"));
    EXPECT_FALSE(bridge.result("tools/list").contains("resultType"));
}

TEST(Revisions, what_2026_07_28_has_dropped_is_not_found_there) {
    McpProgram bridge;
    bridge.initialize();
    for (const auto* method : {"ping", "logging/setLevel", "initialize", "resources/subscribe", "no/such"})
        EXPECT_EQ(bridge.error(method, july_2026())["code"], -32601) << method;
    EXPECT_EQ(bridge.error("server/discover")["code"], -32601) << "and it is none of the older ones'";
}

TEST(Revisions, a_version_that_is_not_there_is_answered_with_those_that_are) {
    McpProgram bridge;
    for (const auto* version : {"2027-01-01", "2025-11-25", ""}) {
        auto params = july_2026();
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = version;
        const auto error = bridge.error("tools/list", params);
        EXPECT_EQ(error["code"], -32022);
        EXPECT_EQ(error["data"], (json{{"supported", {"2026-07-28"}}, {"requested", version}}));
    }
    auto params = july_2026();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = 7;
    EXPECT_EQ(bridge.error("tools/list", params)["code"], -32602);
}

TEST(Revisions, a_request_of_2026_07_28_without_the_clients_capabilities_is_invalid) {
    McpProgram bridge;
    auto params = july_2026();
    params["_meta"].erase("io.modelcontextprotocol/clientCapabilities");
    EXPECT_EQ(bridge.error("tools/list", params)["code"], -32602);
}

TEST(Revisions, a_missing_resource_has_another_code_in_each_and_names_the_address) {
    McpProgram bridge;
    bridge.initialize();
    for (const auto* uri : {"sandbox://nothing", "sandbox://sandboxes/nonsense", "file:///etc/passwd", ""}) {
        const auto older = bridge.error("resources/read", {{"uri", uri}});
        EXPECT_EQ(older["code"], -32002);
        EXPECT_EQ(older["data"]["uri"], uri);
        const auto later = bridge.error("resources/read", july_2026({{"uri", uri}}));
        EXPECT_EQ(later["code"], -32602);
        EXPECT_EQ(later["data"]["uri"], uri);
    }
    EXPECT_EQ(bridge.error("resources/read", {{"uri", 7}})["code"], -32602);
}

TEST(Revisions, the_older_ones_log_each_call_once_a_level_is_set) {
    McpProgram bridge;
    bridge.initialize();
    bridge.tool("sandbox_agent_list");
    EXPECT_TRUE(bridge.notifications().empty());
    EXPECT_EQ(bridge.error("logging/setLevel", {{"level", "loud"}})["code"], -32602);
    EXPECT_EQ(bridge.result("logging/setLevel", {{"level", "info"}}), json::object());

    bridge.tool("sandbox_agent_list");

    ASSERT_EQ(bridge.notifications().size(), 1U);
    const auto& message = bridge.notifications()[0];
    EXPECT_EQ(message["method"], "notifications/message");
    EXPECT_EQ(message["params"]["level"], "info");
    EXPECT_EQ(message["params"]["data"]["call"], "sandbox_agent_list");
}

}  // namespace
}  // namespace sandbox::test
