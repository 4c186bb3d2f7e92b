#include <message.hpp>

#include <gtest/gtest.h>

namespace sandbox::mcp {
namespace {

Message call(const std::string& method, const std::string& params, const std::string& id = "1") {
    return read_message(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" + params + "}");
}

// The tool says which argument it is.
TEST(Message, arguments_of_a_tool_may_hold_nul_and_nothing_else_may) {
    const auto taken = call("tools/call", R"({"name":"x","arguments":{"stdin":"a\u0000b","argv":["\u0000"],
                                                                        "env":{"\u0000":"\u0000"},"\u0000":1}})");
    ASSERT_EQ(taken.kind, Message::Kind::request) << taken.error.message;
    EXPECT_EQ(taken.params["arguments"]["stdin"].get<std::string>(), std::string("a\0b", 3));
    EXPECT_EQ(taken.params["arguments"].size(), 4U);

    for (const auto& refused : {call("tools/call", R"({"name":"\u0000","arguments":{}})"),
                                call("tools/call", R"({"argumentsx":{"a":"\u0000"}})"),
                                call("prompts/get", R"({"name":"x","arguments":{"task":"a\u0000b"}})"),
                                call("prompts/get", R"({"name":"x","arguments":{"\u0000":"b"}})"),
                                call("completion/complete", R"({"context":{"arguments":{"a":"\u0000"}}})")}) {
        EXPECT_EQ(refused.kind, Message::Kind::refused);
        EXPECT_EQ(refused.id, 1);
    }
}

const std::string kDeep = std::string(100, '[') + std::string(100, ']');

TEST(Message, a_notification_is_never_refused) {
    for (const auto& params : {std::string(R"({"a":"\u0000"})"), std::string(R"({"a":1,"a":2})"),
                               "{\"a\":" + kDeep + "}", kDeep, std::string("7")})
        EXPECT_NE(read_message(R"({"jsonrpc":"2.0","method":"no/such","params":)" + params + "}").kind,
                  Message::Kind::refused)
            << params;
    for (const auto* line : {R"({"method":"ping"})", R"({"jsonrpc":"1.0","method":"ping"})",
                             R"({"jsonrpc":2,"method":"ping","params":{"a":"\u0000"}})",
                             R"({"jsonrpc":"2.0","method":"ping","method":"ping"})"})
        EXPECT_EQ(read_message(line).kind, Message::Kind::ignored) << line;
    EXPECT_EQ(read_message(R"({"jsonrpc":"2.0","id":1,"result":{"a":"\u0000"}})").kind, Message::Kind::ignored);
    EXPECT_EQ(read_message(R"({"jsonrpc":"2.0","id":null,"method":"ping"})").kind, Message::Kind::refused);
}

TEST(Message, a_cancel_says_what_it_stops_whatever_else_is_in_it) {
    const auto request_of = [](const std::string& members) {
        const auto message =
            read_message(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{)" + members + "}}");
        return message.kind == Message::Kind::notification && message.method == "notifications/cancelled"
                   ? message.params.value("requestId", nlohmann::json())
                   : nlohmann::json();
    };
    EXPECT_EQ(request_of(R"("requestId":7,"reason":"\u0000")"), 7);
    EXPECT_EQ(request_of(R"("reason":"\u0000","requestId":"seven")"), "seven");
    EXPECT_EQ(request_of(R"("a":1,"a":2,"requestId":7)"), 7);
    EXPECT_EQ(request_of("\"a\":" + kDeep + R"(,"requestId":7)"), 7);
    EXPECT_TRUE(request_of(R"("a":"\u0000","b":{"requestId":7})").is_null());
    EXPECT_TRUE(request_of(R"("a":"\u0000","b":[{"requestId":7}])").is_null());
    EXPECT_TRUE(request_of(R"("requestId":7,"requestId":8)").is_null()) << "which of them is meant is unknown";
    EXPECT_TRUE(request_of(R"("requestId":{"requestId":7},"a":"\u0000")").is_null());
}

// Only the outermost object's id counts, and only once.
TEST(Message, the_id_of_what_is_refused_is_the_messages_own) {
    const auto id_of = [](const std::string& members) {
        return read_message("{" + members + R"(,"x":{"a":1,"a":2}})").id;
    };
    EXPECT_EQ(id_of(R"("id":7)"), 7);
    EXPECT_EQ(id_of(R"("id":"seven")"), "seven");
    EXPECT_TRUE(id_of(R"("y":{"id":7})").is_null());
    EXPECT_TRUE(id_of(R"("id":{"id":7})").is_null());
    EXPECT_TRUE(id_of(R"("id":[7])").is_null());
    EXPECT_TRUE(id_of(R"("id":null)").is_null());
    EXPECT_TRUE(id_of(R"("id":1.5)").is_null());
    EXPECT_TRUE(id_of(R"("id":7,"id":8)").is_null());
    EXPECT_TRUE(read_message(R"([{"id":7,"a":1,"a":2}])").id.is_null());
}

TEST(Message, lines_that_go_out_are_one_line_of_utf8_whatever_they_carry) {
    const auto line = result_line("\n", Json{{"text", "a\nb\xff\xe2\x80\xa8"}});
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(line)["result"]["text"], "a\nb\xef\xbf\xbd\xe2\x80\xa8");
    EXPECT_EQ(error_line(nullptr, {.code = kParseError, .message = "m", .data = nullptr}),
              R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}})");
}

}  // namespace
}  // namespace sandbox::mcp
