#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answering_server.hpp"

namespace sandbox::client {
namespace {

using namespace std::chrono_literals;
using test::AnsweringServer;
using test::run;
using ::testing::HasSubstr;

constexpr std::string_view kId = "019f0000-0000-7000-8000-000000000001";
const auto kOperation = *domain::OperationId::parse(kId);
const auto kSandbox = *domain::SandboxId::parse(kId);

std::string operation_in(std::string_view state) {
    return fmt::format(
        R"({{"operation": {{"id": "{0}", "sandbox_id": "{0}", "state": "{1}", "output": null,)"
        R"("error": null, "created_at": "2026-11-30T03:04:05Z", "updated_at": "2026-11-30T03:04:05Z"}}}})",
        kId, state);
}

// The token goes into one header and nowhere else, beside the key that makes a repeated request harmless.
TEST(Client, sends_the_token_in_its_header_alone) {
    AnsweringServer server;
    server.answer(202, operation_in("pending"));
    Client client(server.io.get_executor(), server.settings("a-token-of-more-than-32-characters"));

    auto answer = run(server.io, client.exec(kSandbox, {.argv = {"true"}, .cwd = {}, .env = {}, .stdin_bytes = {}},
                                             "key-1", 5, in(5s)));

    ASSERT_TRUE(answer) << answer.error().error.message();
    ASSERT_EQ(server.requests.size(), 1U);
    const auto& request = server.requests.front();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/v1/sandboxes/" + std::string(kId) + "/exec?wait_seconds=5");
    EXPECT_EQ(*request.headers.find("Authorization"), "Bearer a-token-of-more-than-32-characters");
    EXPECT_EQ(*request.headers.find("Idempotency-Key"), "key-1");
    EXPECT_EQ(*request.headers.find("Content-Type"), "application/json");
    EXPECT_EQ(request.target.find("a-token"), std::string::npos);
    EXPECT_EQ(request.body.find("a-token"), std::string::npos);
}

// A token that would break out of its header is refused before anything is sent, and is not shown.
TEST(Client, refuses_a_token_that_no_header_can_carry) {
    AnsweringServer server;
    Client client(server.io.get_executor(), server.settings("two\r\nlines"));

    auto answer = run(server.io, client.health(in(5s)));

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error.code(), Code::invalid_argument);
    EXPECT_THAT(answer.error().error.message(), Not(HasSubstr("two")));
    EXPECT_TRUE(server.requests.empty());
}

// Whatever an error's body is, a person gets a sentence, and a program the status and code.
TEST(Client, makes_a_sentence_of_any_error_body) {
    AnsweringServer server;
    for (const auto& [status, body] : std::vector<std::pair<unsigned, std::string>>{
             {404, "Not Found"}, {408, ""}, {422, "Failed to deserialize"}, {502, "<html><body>Bad</body></html>"}}) {
        server.answers.clear();
        server.answer(status, body);
        Client client(server.io.get_executor(), server.settings());

        auto answer = run(server.io, client.sandbox(kSandbox, in(5s)));

        ASSERT_FALSE(answer) << status;
        EXPECT_EQ(answer.error().status, status);
        EXPECT_GT(answer.error().error.message().size(), 10U) << status;
        EXPECT_THAT(answer.error().error.message(), Not(HasSubstr("<html>")));
    }
}

TEST(Client, passes_on_code_and_request_id) {
    AnsweringServer server;
    server.answer(
        503, R"({"code": "no_capacity", "message": "no node fits", "request_id": "r-1", "details": {"nodes": 3}})");
    Client client(server.io.get_executor(), server.settings());

    auto answer = run(server.io, client.create({}, "key", 0, in(5s)));

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, "no_capacity");
    EXPECT_EQ(answer.error().request_id, "r-1");
    EXPECT_EQ(answer.error().error.message(), "no node fits");
}

// Some other program on that port answers 200 with something else.
TEST(Client, says_so_when_an_answer_is_not_of_this_api) {
    AnsweringServer server;
    server.answer(200, "<html>hello</html>");
    Client client(server.io.get_executor(), server.settings());

    auto answer = run(server.io, client.health(in(5s)));

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error.code(), Code::unavailable);
    EXPECT_THAT(answer.error().error.message(), HasSubstr("could not be understood"));
}

// An older server answers at once whatever wait_seconds says: it is not asked more than four times a second.
TEST(Client, waits_between_answers_that_come_too_soon) {
    AnsweringServer server;
    server.answer(200, operation_in("running"));
    Client client(server.io.get_executor(), server.settings());

    auto answer = run(server.io, client.wait(kOperation, in(1s)));

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->state, domain::OperationState::running);
    EXPECT_GE(server.requests.size(), 3U);
    EXPECT_LE(server.requests.size(), 6U);
}

// A server that restarts under a wait, or has lost its database for a moment, does not end the wait.
TEST(Client, goes_on_waiting_through_a_short_absence) {
    AnsweringServer server;
    server.answer(200, operation_in("running"));
    server.answer(
        503, R"({"code": "unavailable", "message": "the store does not answer", "request_id": "", "details": {}})");
    server.answer(200, operation_in("succeeded"));
    Client client(server.io.get_executor(), server.settings());
    int seen = 0;

    auto answer = run(server.io, client.wait(kOperation, in(5s), {.on_progress = [&](const auto&) { ++seen; }}));

    ASSERT_TRUE(answer) << answer.error().error.message();
    EXPECT_EQ(answer->state, domain::OperationState::succeeded);
    EXPECT_EQ(seen, 1);
}

TEST(Client, gives_up_at_once_on_what_waiting_will_not_mend) {
    AnsweringServer server;
    server.answer(404, R"({"code": "not_found", "message": "no such operation", "request_id": "", "details": {}})");
    Client client(server.io.get_executor(), server.settings());

    auto answer = run(server.io, client.wait(kOperation, in(5s)));

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().status, 404U);
    EXPECT_EQ(server.requests.size(), 1U);
}

TEST(Client, gives_up_when_the_server_stays_away) {
    AnsweringServer server;
    server.answer(503, "");
    Client client(server.io.get_executor(), server.settings());

    auto answer = run(server.io, client.wait(kOperation, in(60s), {.patience = 1s}));

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().status, 503U);
}

}  // namespace
}  // namespace sandbox::client
