// Whatever arrives, the answer is JSON with a code from the table, and the next request is served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/http_call.hpp"
#include "support/process.hpp"

namespace sandbox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kApiToken(40, 'k');
const std::string kNodeToken(40, 'n');
const std::map<std::string, std::string> kOperator{{"Authorization", "Bearer " + kApiToken}};

/// One daemon with tokens and no worker for the whole suite.
class BadRequest : public testing::Test {
protected:
    static void SetUpTestSuite() {
        daemon_ = std::make_unique<Daemon>(Daemon::Options{
            .variables = {{"SANDBOX__SERVER__API_TOKEN", kApiToken}, {"SANDBOX__SERVER__NODE_TOKEN", kNodeToken}},
            .arguments = {"--role", "controller"},
            .wait_for_node = false});
    }
    static void TearDownTestSuite() { daemon_.reset(); }

    Reply post(const std::string& path, const std::string& body) {
        return call(daemon_->address(), "POST", path, body, kOperator);
    }
    /// The server is still there.
    void TearDown() override { EXPECT_EQ(call(daemon_->address(), "GET", "/healthz").status, 200); }

    static void expect_error(const Reply& reply, unsigned status, const std::string& code, const std::string& says) {
        EXPECT_EQ(reply.status, status) << reply.body;
        const auto body = reply.json();
        ASSERT_TRUE(body.is_object()) << reply.body;
        EXPECT_EQ(body["code"], code);
        EXPECT_THAT(body["message"].get<std::string>(), HasSubstr(says));
        EXPECT_EQ(body["request_id"], reply.headers.at("x-request-id"));
        EXPECT_TRUE(body["details"].is_object());
    }

    static std::string create_with(const std::string& more) {
        return R"({"spec": {"tenant": "acme", "image": "a:local")" + more + "}}";
    }

    static std::unique_ptr<Daemon> daemon_;
};
std::unique_ptr<Daemon> BadRequest::daemon_;

TEST_F(BadRequest, unknown_field_is_named_with_the_nearest_real_one) {
    expect_error(post("/v1/sandboxes", create_with(R"(, "tll_seconds": 60)")), 400, "invalid_request",
                 "spec.tll_seconds");
    EXPECT_THAT(post("/v1/sandboxes", create_with(R"(, "tll_seconds": 60)")).body, HasSubstr("ttl_seconds"));
}

TEST_F(BadRequest, wrong_type) {
    expect_error(post("/v1/sandboxes", create_with(R"(, "ttl_seconds": "sixty")")), 400, "invalid_request",
                 "spec.ttl_seconds");
    expect_error(post("/v1/sandboxes", create_with(R"(, "ttl_seconds": 60.5)")), 400, "invalid_request",
                 "spec.ttl_seconds");
    expect_error(post("/v1/sandboxes", create_with(R"(, "ttl_seconds": 18446744073709551675)")), 400, "invalid_request",
                 "spec.ttl_seconds");
}

TEST_F(BadRequest, duplicate_key) {
    expect_error(post("/v1/sandboxes", create_with(R"(, "tenant": "other")")), 400, "invalid_request", "tenant");
}

TEST_F(BadRequest, two_mebibytes_of_body) {
    expect_error(post("/v1/sandboxes", std::string(2 * 1024 * 1024, ' ')), 413, "payload_too_large", "");
}

TEST_F(BadRequest, a_hundred_thousand_levels) {
    expect_error(post("/v1/sandboxes", std::string(100'000, '[')), 400, "invalid_request", "");
    expect_error(post("/v1/sandboxes", std::string(100'000, '[') + std::string(100'000, ']')), 400, "invalid_request",
                 "64");
}

TEST_F(BadRequest, bytes_that_are_not_utf8) {
    expect_error(post("/v1/sandboxes", create_with(", \"agent\": \"\xff\xfe\"")), 400, "invalid_request", "UTF-8");
}

TEST_F(BadRequest, nul_in_a_string) {
    expect_error(post("/v1/sandboxes", create_with(R"(, "agent": "a\u0000b")")), 400, "invalid_request", "NUL");
}

TEST_F(BadRequest, bad_id) {
    expect_error(call(daemon_->address(), "GET", "/v1/sandboxes/not-an-id", "", kOperator), 400, "invalid_request",
                 "UUID");
}

TEST_F(BadRequest, unknown_id) {
    expect_error(call(daemon_->address(), "GET", "/v1/sandboxes/0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "", kOperator),
                 404, "not_found", "");
}

TEST_F(BadRequest, wrong_method_says_what_is_allowed) {
    const auto reply = call(daemon_->address(), "PUT", "/v1/sandboxes", "", kOperator);
    expect_error(reply, 405, "method_not_allowed", "");
    EXPECT_THAT(reply.headers.at("allow"), HasSubstr("POST"));
}

TEST_F(BadRequest, unknown_path) {
    expect_error(call(daemon_->address(), "GET", "/v2/sandboxes", "", kOperator), 404, "not_found", "");
}

TEST_F(BadRequest, missing_and_wrong_tokens) {
    expect_error(call(daemon_->address(), "GET", "/v1/sandboxes"), 401, "unauthorized", "Authorization");
    expect_error(call(daemon_->address(), "GET", "/v1/sandboxes", "", {{"Authorization", "Bearer wrong"}}), 401,
                 "unauthorized", "API token");
    expect_error(call(daemon_->address(), "POST", "/v1/nodes/register", "{}", kOperator), 401, "unauthorized",
                 "node token");
}

TEST_F(BadRequest, privileged_and_exposures_are_refused) {
    expect_error(post("/v1/sandboxes", create_with(R"(, "signals": {"privileged": true})")), 400, "invalid_request",
                 "privileged");
    expect_error(post("/v1/sandboxes", create_with(R"(, "exposures": [{"container_port": 80}])")), 503, "unavailable",
                 "tunnels");
    expect_error(post("/v1/sandboxes/0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b/tunnels", R"({"container_port": 80})"), 503,
                 "unavailable", "tunnels");
}

TEST_F(BadRequest, all_problems_come_together) {
    const auto reply = post("/v1/sandboxes", R"({"spec": {"tenant": " ", "image": "a b", "ttl_seconds": 1}})");
    expect_error(reply, 400, "invalid_request", "tenant");
    EXPECT_THAT(reply.body, testing::AllOf(HasSubstr("image"), HasSubstr("ttl_seconds")));
}

TEST_F(BadRequest, bad_query_parameters) {
    for (const auto* target : {"/v1/sandboxes?limit=0", "/v1/sandboxes?limit=x", "/v1/sandboxes?state=happy",
                               "/v1/sandboxes?cursor=abc", "/v1/operations?sandbox_id=abc"})
        expect_error(call(daemon_->address(), "GET", target, "", kOperator), 400, "invalid_request", "query parameter");
}

TEST_F(BadRequest, bad_idempotency_key) {
    auto headers = kOperator;
    headers["Idempotency-Key"] = std::string(129, 'x');
    expect_error(call(daemon_->address(), "POST", "/v1/sandboxes", create_with(""), headers), 400, "invalid_request",
                 "Idempotency-Key");
}

TEST_F(BadRequest, malformed_http_is_answered_in_json) {
    const auto answer = send_raw(daemon_->address(), "GET / HTTP/1.1\r\nbroken header\r\n\r\n");
    EXPECT_THAT(answer, HasSubstr("400"));
    EXPECT_THAT(answer, HasSubstr("\"code\":\"invalid_request\""));
}

TEST_F(BadRequest, no_nodes_is_no_capacity) {
    const auto reply = post("/v1/sandboxes", create_with(""));
    expect_error(reply, 503, "no_capacity", "");
    EXPECT_EQ(reply.json()["details"], json({{"nodes", 0}, {"rejected", json::object()}}));
}

}  // namespace
}  // namespace sandbox::test
