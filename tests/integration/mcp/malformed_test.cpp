// What is no message gets the right error or silence, and the next message works.
#include <string>
#include <support/mcp_program.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::test {
namespace {

using namespace std::string_literals;
using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Malformed : public ::testing::Test {
protected:
    Malformed() { bridge.initialize(); }

    /// The one error that answers this line; its id, if it has one, in `id`.
    json error_for(const std::string& line) {
        const auto said = bridge.said_to(line + "\n");
        EXPECT_THAT(said, SizeIs(1)) << line.substr(0, 200);
        if (said.size() != 1 || !said[0].contains("error")) return json::object();
        EXPECT_EQ(said[0]["jsonrpc"], "2.0");
        EXPECT_TRUE(said[0]["error"]["message"].is_string());
        return said[0];
    }
    void expect(const std::string& line, int code, const json& id = nullptr) {
        const auto error = error_for(line);
        EXPECT_EQ(error["error"]["code"], code) << line.substr(0, 200);
        if (id.is_null())
            EXPECT_FALSE(error.contains("id")) << line.substr(0, 200);
        else
            EXPECT_EQ(error.value("id", json()), id) << line.substr(0, 200);
    }
    void expect_silence(const std::string& bytes) { EXPECT_THAT(bridge.said_to(bytes), IsEmpty()) << bytes; }

    McpProgram bridge;
};

TEST_F(Malformed, what_is_no_json_is_a_parse_error_without_an_id) {
    for (const auto* line : {"{", "}", "hello", R"({"jsonrpc":"2.0","id":1,"method":"ping")", R"({"id":1,)", "\"open",
                             R"({"jsonrpc":"2.0","id":1,"method":"ping"} x)", "{'id':1}", "nul", "+1", "01"})
        expect(line, -32700);
}

TEST_F(Malformed, bytes_that_are_not_utf8_are_a_parse_error) {
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xff\xfe\"}}", -32700);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xed\xa0\x80\"}", -32700);
    expect("\xff\xfe{}", -32700);
}

TEST_F(Malformed, a_batch_and_what_is_no_object_are_invalid) {
    expect("[]", -32600);
    expect(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", -32600);
    for (const auto* line : {"1", "\"x\"", "null", "true", "1.5"}) expect(line, -32600);
}

TEST_F(Malformed, an_id_is_a_string_or_an_integer) {
    for (const auto* id : {"null", "1.5", "1e3", "true", "false", "{}", "[1]", "123456789012345678901234567890"})
        expect(std::string(R"({"jsonrpc":"2.0","id":)") + id + R"(,"method":"ping"})", -32600);
}

TEST_F(Malformed, ids_come_back_exactly) {
    for (const auto* id : {"0", "-1", "9007199254740993", "9223372036854775807", "18446744073709551615",
                           "-9223372036854775808", R"("")", R"("a\"b\\c\n\u00e9")", R"("9007199254740993")"}) {
        bridge.send_line(std::string(R"({"jsonrpc":"2.0","id":)") + id + R"(,"method":"ping"})");
        const auto line = bridge.process().read_line(std::chrono::seconds(60));
        ASSERT_TRUE(line);
        EXPECT_EQ(json::parse(*line)["id"], json::parse(id));
        if (id[0] != '"') EXPECT_THAT(*line, ::testing::HasSubstr(std::string("\"id\":") + id + ","));
    }
}

TEST_F(Malformed, what_lacks_a_method_or_the_version_is_invalid_and_keeps_its_id) {
    expect(R"({"jsonrpc":"2.0","id":"a"})", -32600, "a");
    expect(R"({"jsonrpc":"2.0","id":"a","method":7})", -32600, "a");
    expect(R"({"jsonrpc":"2.0","id":"a","method":null})", -32600, "a");
    expect(R"({"jsonrpc":"1.0","id":"a","method":"ping"})", -32600, "a");
    expect(R"({"id":"a","method":"ping"})", -32600, "a");
    expect("{}", -32600);
}

TEST_F(Malformed, params_are_an_object) {
    for (const auto* params : {"[]", "[1]", "1", "\"x\"", "true"})
        expect(std::string(R"({"jsonrpc":"2.0","id":"a","method":"tools/list","params":)") + params + "}", -32602, "a");
}

TEST_F(Malformed, an_unknown_method_is_not_found) {
    expect(R"({"jsonrpc":"2.0","id":"a","method":"no/such"})", -32601, "a");
    expect(R"({"jsonrpc":"2.0","id":"a","method":""})", -32601, "a");
    expect(R"({"jsonrpc":"2.0","id":"a","method":"resources/subscribe","params":{"uri":"sandbox://agents"}})", -32601,
           "a");
}

TEST_F(Malformed, notifications_are_never_answered_known_or_not) {
    expect_silence(R"({"jsonrpc":"2.0","method":"no/such"})"
                   "\n");
    expect_silence(R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"sandbox_agent_list"}})"
                   "\n");
    expect_silence(R"({"jsonrpc":"2.0","method":"ping","params":[1]})"
                   "\n");
    expect_silence(R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})"
                   "\n");
    const auto deep = std::string(100, '[') + std::string(100, ']');
    for (const auto& params : {std::string(R"({"a":"\u0000"})"), std::string(R"({"a":1,"a":2})"), deep,
                               "{\"a\":" + deep + "}", R"({"name":"sandbox_exec","arguments":{"argv":["\u0000"]}})"s})
        for (const auto* method : {"no/such", "tools/call", "notifications/cancelled", "notifications/initialized"})
            expect_silence(R"({"jsonrpc":"2.0","method":")"s + method + R"(","params":)" + params + "}\n");
    for (const auto* wrong : {R"({"jsonrpc":"1.0","method":"ping"})", R"({"method":"ping"})",
                              R"({"jsonrpc":2.0,"method":"tools/list","params":{}})",
                              R"({"jsonrpc":null,"method":"no/such","params":{"a":"\u0000"}})"})
        expect_silence(wrong + "\n"s);
    for (const auto* params :
         {"{}", "[]", R"({"requestId":"unknown"})", R"({"requestId":null})", R"({"requestId":{}})"})
        expect_silence(std::string(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)") + params +
                       "}\n");
}

TEST_F(Malformed, answers_to_questions_that_were_never_asked_are_ignored) {
    expect_silence(R"({"jsonrpc":"2.0","id":1,"result":{}})"
                   "\n");
    expect_silence(R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}})"
                   "\n");
    expect_silence(R"({"jsonrpc":"2.0","id":1,"result":{"a":"\u0000"}})"
                   "\n");
}

TEST_F(Malformed, carriage_returns_a_byte_order_mark_and_empty_lines_are_accepted) {
    const std::string ping = R"({"jsonrpc":"2.0","id":"a","method":"ping"})";
    for (const auto& bytes :
         {ping + "\r\n", "\xef\xbb\xbf" + ping + "\n", "\n\r\n  \n\t\n" + ping + "\n", "  " + ping + " \t\r\n"})
        EXPECT_THAT(bridge.said_to(bytes),
                    ::testing::ElementsAre(json{{"jsonrpc", "2.0"}, {"id", "a"}, {"result", json::object()}}));
    expect_silence("\r\n\n   \n");
}

TEST_F(Malformed, a_line_over_8_mib_is_refused_once_and_the_next_works) {
    const std::string head = R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"a":")";
    const std::string tail = R"("}})";
    constexpr std::size_t kLimit = 8UL * 1024 * 1024;
    const std::string fits(kLimit - head.size() - tail.size(), 'x');

    EXPECT_THAT(bridge.said_to(head + fits + tail + "\n"), SizeIs(1));
    expect(head + fits + "x" + tail, -32600);
    expect(std::string(3 * kLimit, '['), -32600);
}

TEST_F(Malformed, nesting_over_64_levels_is_refused_with_its_id) {
    const auto nested = [](std::size_t levels) {
        return R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"a":)" + std::string(levels, '[') +
               std::string(levels, ']') + "}}";
    };
    EXPECT_THAT(bridge.said_to(nested(62) + "\n"), SizeIs(1));
    expect(nested(63), -32600, "a");
    expect(nested(1'000'000), -32600, "a");
    expect(std::string(1'000'000, '['), -32700);
}

TEST_F(Malformed, a_key_given_twice_and_nul_are_refused) {
    expect(R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"b":1,"b":2}})", -32600, "a");
    expect(R"({"jsonrpc":"2.0","id":"a","id":"b","method":"ping"})", -32600);
    expect(R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"b":"\u0000"}})", -32600, "a");
}

TEST_F(Malformed, a_malformed_call_is_invalid_and_bad_arguments_are_an_error_for_the_model) {
    for (const auto* params :
         {"{}", R"({"name":7})", R"({"name":"no_such_tool"})", R"({"name":"sandbox_agent_list","arguments":[]})",
          R"({"name":"sandbox_agent_list","arguments":"x"})"})
        expect(std::string(R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":)") + params + "}", -32602, "a");

    const json id = "00000000-0000-7000-8000-000000000000";
    const std::string nul("x\0y", 3);
    const auto text_for = [&](const json& arguments) {
        const auto refused = bridge.tool("sandbox_exec", arguments);
        EXPECT_EQ(refused["isError"], true);
        return refused["content"][0]["text"].get<std::string>();
    };
    EXPECT_THAT(text_for({{"sandbox_id", id}, {"argv", {"a", nul}}}),
                ::testing::HasSubstr("do not fit: argv[1]: must not hold a NUL character. Nothing was done"));
    EXPECT_THAT(text_for({{"sandbox_id", id}, {"argv", {"a"}}, {"cwd", nul}}), ::testing::HasSubstr("cwd: must not"));
    EXPECT_THAT(text_for({{"sandbox_id", id}, {"argv", {"a"}}, {"env", {{nul, "v"}}}}), ::testing::HasSubstr("env["));
    EXPECT_THAT(text_for({{"sandbox_id", id}, {"argv", {"a"}}, {nul, "v"}}), ::testing::HasSubstr("unknown field"));
    EXPECT_THAT(text_for({{"sandbox_id", id}, {"argv", {"a"}}, {"stdin", nul}}),
                ::testing::HasSubstr("does not answer"));

    const auto result = bridge.tool("sandbox_inspect", {{"sandbox_id", "nonsense"}, {"sandbox", 1}});
    EXPECT_EQ(result["isError"], true);
    const auto text = result["content"][0]["text"].get<std::string>();
    EXPECT_THAT(text, ::testing::HasSubstr("sandbox_id: must be a whole id"));
    EXPECT_THAT(text, ::testing::HasSubstr("did you mean \"sandbox_id\"?"));
    EXPECT_EQ(result["structuredContent"]["error"], text);
}

}  // namespace
}  // namespace sandbox::test
