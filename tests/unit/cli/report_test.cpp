#include <report.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using ::testing::HasSubstr;

client::Failure answered(unsigned status, std::string code) {
    return {.error = Error(Code::unauthenticated, "the token is missing or wrong"),
            .code = std::move(code),
            .request_id = "r-7",
            .status = status};
}

client::Failure not_answered() {
    return {.error = Error(Code::unavailable, "can't connect to http://127.0.0.1:1: Connection refused"),
            .code = "",
            .request_id = "",
            .status = 0};
}

// What to do next stands beside what is wrong.
TEST(Report, hints_at_what_helps) {
    EXPECT_THAT(message_of(not_answered()), HasSubstr("`sandbox doctor`"));
    EXPECT_THAT(message_of(not_answered()), HasSubstr("`sandbox config set-server URL`"));
    EXPECT_THAT(message_of(answered(401, "unauthorized")), HasSubstr("SANDBOX_TOKEN"));
    EXPECT_EQ(message_of(answered(404, "not_found")), "the token is missing or wrong");
}

TEST(Report, gives_programs_one_document) {
    const auto text = error_text("not_found", "no such sandbox", "r-7", true);
    EXPECT_EQ(
        nlohmann::json::parse(text),
        (nlohmann::json{{"error", {{"code", "not_found"}, {"message", "no such sandbox"}, {"request_id", "r-7"}}}}));
    EXPECT_TRUE(nlohmann::json::parse(error_text("usage", "x", "", true))["error"]["request_id"].is_null());
}

// A server's words can't move the cursor or colour the terminal.
TEST(Report, shows_people_no_control_characters) {
    EXPECT_EQ(error_text("internal", "bad \x1b[31mnews\xc2\x9b", "", false), "sandbox: bad \\x1b[31mnews\\x9b\n");
}

}  // namespace
}  // namespace sandbox::cli
