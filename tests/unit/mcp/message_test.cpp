#include <message.hpp>

#include <gtest/gtest.h>

namespace sandbox::mcp {
namespace {

TEST(Message, standard_input_of_a_command_may_hold_nul_and_nothing_else_may) {
    const auto stdin_text = read_message(
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"stdin":"a\u0000b"}}})");
    ASSERT_EQ(stdin_text.kind, Message::Kind::request);
    EXPECT_EQ(stdin_text.params["arguments"]["stdin"].get<std::string>(), std::string("a\0b", 3));

    const auto cwd = read_message(
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"cwd":"a\u0000b"}}})");
    EXPECT_EQ(cwd.kind, Message::Kind::refused);
    EXPECT_EQ(cwd.id, 1);
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
