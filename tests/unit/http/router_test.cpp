#include <support/run_task.hpp>

#include <gtest/gtest.h>

#include <sandbox/http/router.hpp>

namespace sandbox::http {
namespace {

Response plain_error(unsigned status, std::string message, const std::string&) {
    Response response;
    response.status = status;
    response.body = std::move(message);
    return response;
}

class RouterTest : public testing::Test {
protected:
    void add(std::string method, std::string pattern) {
        auto name = method + " " + pattern;
        auto handler = [name](Request request) -> Task<Response> {
            Response response;
            response.body = name;
            for (const auto& [key, value] : request.path_parameters) response.body += " " + key + "=" + value;
            co_return response;
        };
        router_.add({.method = method, .pattern = pattern, .body_limit = 10, .handler = handler, .guard = {}});
    }

    // As the server does it: admit, then handle.
    Response ask(std::string method, std::string target) {
        Request request;
        request.method = std::move(method);
        request.target = std::move(target);
        auto admitted = router_.admit(request);
        if (!admitted) return std::move(admitted.error());
        return test::run(router_.handle(std::move(request)));
    }

    Router router_{plain_error};
};

TEST_F(RouterTest, finds_routes_and_their_parameters) {
    add("GET", "/v1/sandboxes");
    add("GET", "/v1/sandboxes/{id}");
    add("DELETE", "/v1/sandboxes/{id}/tunnels/{tunnel_id}");
    EXPECT_EQ(ask("GET", "/v1/sandboxes").body, "GET /v1/sandboxes");
    EXPECT_EQ(ask("GET", "/v1/sandboxes?limit=1").body, "GET /v1/sandboxes");
    EXPECT_EQ(ask("GET", "/v1/sandboxes/7").body, "GET /v1/sandboxes/{id} id=7");
    EXPECT_EQ(ask("DELETE", "/v1/sandboxes/7/tunnels/9").body,
              "DELETE /v1/sandboxes/{id}/tunnels/{tunnel_id} id=7 tunnel_id=9");
}

TEST_F(RouterTest, an_encoded_slash_stays_in_its_segment) {
    add("GET", "/files/{name}");
    EXPECT_EQ(ask("GET", "/files/a%2Fb").body, "GET /files/{name} name=a/b");
    EXPECT_EQ(ask("GET", "/files/a/b").status, 404u);
}

TEST_F(RouterTest, a_literal_segment_is_nearer_than_a_parameter_in_any_order_of_adding) {
    add("GET", "/v1/nodes/{id}");
    add("GET", "/v1/nodes/register");
    EXPECT_EQ(ask("GET", "/v1/nodes/register").body, "GET /v1/nodes/register");
    EXPECT_EQ(ask("GET", "/v1/nodes/x").body, "GET /v1/nodes/{id} id=x");
}

TEST_F(RouterTest, unknown_paths_are_404_and_bad_encodings_400) {
    add("GET", "/v1/sandboxes/{id}");
    for (const char* target : {"/", "/v1", "/v1/sandboxes", "/v1/sandboxes/", "/v1/sandboxes/7/", "//v1/sandboxes/7"}) {
        EXPECT_EQ(ask("GET", target).status, 404u) << target;
    }
    for (const char* target : {"/v1/sandboxes/%", "/v1/sandboxes/%zz", "/v1/sandboxes/%00"}) {
        EXPECT_EQ(ask("GET", target).status, 400u) << target;
    }
}

TEST_F(RouterTest, a_wrong_method_is_405_and_says_which_are_allowed) {
    add("POST", "/v1/sandboxes");
    add("GET", "/v1/sandboxes");
    auto response = ask("PATCH", "/v1/sandboxes");
    EXPECT_EQ(response.status, 405u);
    ASSERT_NE(response.headers.find("Allow"), nullptr);
    EXPECT_EQ(*response.headers.find("Allow"), "GET, HEAD, POST");
}

TEST_F(RouterTest, head_is_served_by_the_route_of_get) {
    add("GET", "/healthz");
    EXPECT_EQ(ask("HEAD", "/healthz").body, "GET /healthz");
}

TEST_F(RouterTest, the_guard_refuses_before_the_body) {
    auto handler = [](Request) -> Task<Response> { co_return Response{}; };
    auto guard = [](const Request& head) -> std::optional<Response> {
        if (head.headers.find("Authorization")) return std::nullopt;
        return plain_error(401, "", "");
    };
    router_.add({.method = "POST", .pattern = "/x", .body_limit = 5, .handler = handler, .guard = guard});
    Request request;
    request.method = "POST";
    request.target = "/x";
    auto refused = router_.admit(request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, 401u);
    request.headers.add("Authorization", "x");
    EXPECT_EQ(router_.admit(request).value(), 5u);
}

TEST_F(RouterTest, the_observer_sees_every_answer_with_its_pattern) {
    std::vector<std::string> seen;
    add("GET", "/v1/sandboxes/{id}");
    auto fails = [](Request) -> Task<Response> {
        throw std::runtime_error("made to fail");
        co_return Response{};
    };
    router_.add({.method = "GET", .pattern = "/fails", .body_limit = 0, .handler = fails, .guard = {}});
    router_.observe([&](const Request& request, std::string_view pattern, unsigned status, std::chrono::microseconds) {
        seen.push_back(request.target + " " + std::string(pattern) + " " + std::to_string(status));
    });
    ask("GET", "/v1/sandboxes/7");
    ask("GET", "/nowhere");
    EXPECT_THROW(ask("GET", "/fails"), std::runtime_error);
    EXPECT_EQ(seen, (std::vector<std::string>{"/v1/sandboxes/7 /v1/sandboxes/{id} 200", "/nowhere  404",
                                              "/fails /fails 500"}));
}

TEST_F(RouterTest, the_same_route_twice_is_a_broken_invariant) {
    add("GET", "/x");
    EXPECT_DEATH(add("GET", "/x"), "two routes for GET /x");
}

}  // namespace
}  // namespace sandbox::http
