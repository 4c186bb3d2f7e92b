#include <report.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

// A prefix too many, or one too few.
TEST(Report, asks_for_the_address_when_the_server_knows_no_such_path) {
    const client::Failure failure{
        .error = Error(Code::not_found, "there is no such path"), .code = "not_found", .request_id = "", .status = 404};
    EXPECT_THAT(message_of(failure), HasSubstr("`sandbox config show`"));
}

client::Failure connection_failed(std::string message) {
    return {.error = Error(Code::unavailable, std::move(message)), .code = "", .request_id = "", .status = 0};
}

// A certificate that nobody vouches for is no server that is down.
TEST(Report, names_the_option_for_a_private_authority) {
    const auto refused = message_of(connection_failed(
        "can't connect to https://host: the certificate of host was refused: self-signed certificate"));
    EXPECT_THAT(refused, AllOf(HasSubstr("--ca-file"), HasSubstr("SANDBOX_CA_FILE"), Not(HasSubstr("running there"))));
    EXPECT_THAT(message_of(connection_failed("can't use the CA file /x: No such file")), HasSubstr("SANDBOX_CA_FILE"));
}

client::Failure no_capacity(std::string details) {
    return {.error = Error(Code::resource_exhausted, "none of 3 nodes can take it").with_details(std::move(details)),
            .code = "no_capacity",
            .request_id = "r-7",
            .status = 503};
}

// Each gate that removed nodes has its own way out, and none of them is to isolate less.
TEST(Report, says_what_to_do_when_there_is_no_capacity) {
    const auto asks = message_of(no_capacity(R"({"nodes": 3, "rejected": {"resources": 2, "reserve": 1}})"));
    EXPECT_THAT(asks, AllOf(HasSubstr("--memory-mib"), HasSubstr("5 %"), Not(HasSubstr("solation"))));

    for (const auto* gate :
         {"draining", "stale", "pressure", "tunnels", "resources", "sandbox_limit", "labels", "reserve"}) {
        const auto text = message_of(no_capacity(fmt::format(R"({{"nodes": 3, "rejected": {{"{}": 3}}}})", gate)));
        EXPECT_GT(text.size(), std::string("none of 3 nodes can take it. ").size()) << gate;
    }
    const auto isolation = message_of(no_capacity(R"({"nodes": 3, "rejected": {"isolation": 3}})"));
    EXPECT_THAT(isolation,
                AllOf(HasSubstr("add one that does"), HasSubstr("never weakened"), Not(HasSubstr("--isolation"))));
    EXPECT_THAT(message_of(no_capacity(R"({"nodes": 0, "rejected": {}})")), HasSubstr("Start a worker"));
    for (const auto* foreign : {"", "[]", R"({"nodes": "x", "rejected": 5})"})
        EXPECT_EQ(message_of(no_capacity(foreign)), "none of 3 nodes can take it");
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
