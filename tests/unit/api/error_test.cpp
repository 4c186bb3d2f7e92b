#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/error.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

namespace sandbox::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json parsed(const ErrorAnswer& answer) {
    return parse_json(answer.body).value();
}

struct CodeCase {
    Code code;
    unsigned status;
    std::string_view name;
};

// The table of the contract: what each of our codes is on the wire.
TEST(ErrorAnswer, has_status_and_name_of_its_code) {
    constexpr CodeCase kCases[] = {{Code::invalid_argument, 400, "invalid_request"},
                                   {Code::unauthenticated, 401, "unauthorized"},
                                   {Code::permission_denied, 401, "unauthorized"},
                                   {Code::not_found, 404, "not_found"},
                                   {Code::conflict, 409, "conflict"},
                                   {Code::resource_exhausted, 503, "no_capacity"},
                                   {Code::deadline_exceeded, 503, "unavailable"},
                                   {Code::cancelled, 503, "unavailable"},
                                   {Code::unavailable, 503, "unavailable"},
                                   {Code::internal, 500, "internal"}};
    for (const auto& [code, status, name] : kCases) {
        auto answer = to_answer(Error(code, "what happened"), "r-1");
        EXPECT_EQ(answer.status, status) << name;
        EXPECT_EQ(parsed(answer)["code"], name);
        EXPECT_EQ(parsed(answer)["request_id"], "r-1");
        EXPECT_EQ(parsed(answer)["details"], json::object());
        if (code != Code::internal) EXPECT_EQ(parsed(answer)["message"], "what happened");
    }
}

TEST(ErrorAnswer, has_the_name_of_what_http_refuses) {
    constexpr std::pair<unsigned, std::string_view> kCases[] = {
        {400, "invalid_request"}, {401, "unauthorized"},    {404, "not_found"},       {405, "method_not_allowed"},
        {408, "request_timeout"}, {409, "conflict"},        {411, "invalid_request"}, {413, "payload_too_large"},
        {429, "rate_limited"},    {431, "invalid_request"}, {500, "internal"},        {503, "unavailable"},
        {505, "unavailable"}};
    for (const auto& [status, name] : kCases) {
        auto answer = to_answer(status, "why", "r-1");
        EXPECT_EQ(answer.status, status);
        EXPECT_EQ(parsed(answer)["code"], name) << status;
    }
}

// An inner error's text may hold a path, an address or worse.
TEST(ErrorAnswer, keeps_internal_errors_to_the_log) {
    EXPECT_THAT(to_answer(Error(Code::internal, "relation sandbox.nodes is missing"), "r").body,
                Not(HasSubstr("nodes")));
    EXPECT_THAT(to_answer(500, "relation sandbox.nodes is missing", "r").body, Not(HasSubstr("nodes")));
}

TEST(ErrorAnswer, carries_the_gate_counts_of_a_refused_placement) {
    auto error = Error(Code::resource_exhausted, "no node fits").with_details(R"({"nodes":3,"rejected":{"stale":1}})");

    EXPECT_EQ(parsed(to_answer(error, "r"))["details"], json({{"nodes", 3}, {"rejected", {{"stale", 1}}}}));
}

TEST(ErrorAnswer, is_json_whatever_the_message_holds) {
    EXPECT_TRUE(parse_json(to_answer(Error(Code::not_found, "\xff\x01\"\\"), "\xfe").body));
    EXPECT_LT(to_answer(Error(Code::not_found, std::string(1'000'000, 'x')), "r").body.size(), 5000U);
}

// What went out comes back on the client's side as it was.
TEST(ReceivedError, is_what_was_sent) {
    auto sent = to_answer(Error(Code::resource_exhausted, "no node fits").with_details(R"({"nodes":3})"), "r-9");

    auto received = from_answer(sent.status, sent.body);

    EXPECT_EQ(received.error.code(), Code::resource_exhausted);
    EXPECT_EQ(received.error.message(), "no node fits");
    EXPECT_EQ(received.error.details(), R"({"nodes":3})");
    EXPECT_EQ(received.code, "no_capacity");
    EXPECT_EQ(received.request_id, "r-9");
}

struct ForeignCase {
    unsigned status;
    std::string body;
    Code code;
    std::string message;
};

// Older controllers and proxies in between answer with text, a page, or nothing at all.
TEST(ReceivedError, is_a_sentence_whatever_the_body) {
    const ForeignCase cases[] = {
        {404, "", Code::not_found, "the server answered 404 Not Found"},
        {404, "Not Found", Code::not_found, "the server answered 404 Not Found"},
        {408, "", Code::deadline_exceeded, "the server answered 408 Request Timeout"},
        {415, "Expected request with `Content-Type: application/json`", Code::invalid_argument,
         "the server answered 415 Unsupported Media Type: Expected request with `Content-Type: application/json`"},
        {422, "Failed to deserialize\nthe JSON body", Code::invalid_argument,
         "the server answered 422 Unprocessable Entity: Failed to deserialize the JSON body"},
        {502, "<html><body>Bad Gateway</body></html>", Code::unavailable,
         "the server answered 502 Bad Gateway with a page for browsers, so it may come from a proxy in between"},
        {500, R"({"error": "it broke"})", Code::internal, "it broke"},
        {409, R"({"message": "busy"})", Code::conflict, "busy"},
        {409, R"(["busy"])", Code::conflict, R"(the server answered 409 Conflict: ["busy"])"},
        {301, "", Code::invalid_argument,
         "the server answered 301 Moved Permanently; the address of the server is probably not right"},
        {499, "", Code::invalid_argument, "the server answered 499"}};
    for (const auto& [status, body, code, message] : cases) {
        auto received = from_answer(status, body);
        EXPECT_EQ(received.error.code(), code) << status << body;
        EXPECT_EQ(received.error.message(), message);
    }
}

TEST(ReceivedError, passes_on_a_code_that_is_newer_than_this_program) {
    auto received = from_answer(409, R"({"code": "quota_exceeded", "message": "eleven sandboxes"})");

    EXPECT_EQ(received.code, "quota_exceeded");
    EXPECT_EQ(received.error.code(), Code::conflict);
    EXPECT_EQ(received.error.message(), "eleven sandboxes");
}

// The message is shown on a terminal, and the server may not be ours.
TEST(ReceivedError, holds_no_control_characters_and_is_bounded) {
    auto attack = from_answer(404,
                              "\x1b]0;owned\x07 \xc2\x9b"
                              "31m");
    EXPECT_EQ(attack.error.message(), "the server answered 404 Not Found: ]0;owned    31m");

    auto json_attack = from_answer(404, R"({"code": "not_found", "message": "\u001b[2Jgone", "request_id": "a\nb"})");
    EXPECT_EQ(json_attack.error.message(), "[2Jgone");
    EXPECT_EQ(json_attack.request_id, "a b");

    EXPECT_LT(from_answer(500, std::string(1'000'000, 'x')).error.message().size(), 400U);
    EXPECT_TRUE(is_utf8(from_answer(500, std::string(1'000, '\xff')).error.message()));
}

}  // namespace
}  // namespace sandbox::api
