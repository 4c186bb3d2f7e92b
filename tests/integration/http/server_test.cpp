#include "http_fixture.hpp"

namespace sandbox::http {
namespace {

class ServerTest : public HttpTest {
protected:
    static std::string get(const std::string& target, const std::string& more = {}) {
        return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
    }
};

// Every answer carries the client's own request id when it is sane, and a fresh one otherwise.
TEST_F(ServerTest, request_ids_are_the_client_s_own_where_sane) {
    start();
    auto own = ask_raw(get("/hello", "X-Request-Id: my-id-1\r\nConnection: close\r\n"));
    EXPECT_NE(own.find("X-Request-Id: my-id-1\r\n"), std::string::npos) << own;
    for (std::string bad : {std::string("has blank"), std::string(129, 'x'), std::string("\xc3\xa9"), std::string()}) {
        auto fresh = ask_raw(get("/hello", "X-Request-Id: " + bad + "\r\nConnection: close\r\n"));
        auto at = fresh.find("X-Request-Id: ");
        ASSERT_NE(at, std::string::npos) << fresh;
        EXPECT_TRUE(Uuid::parse(fresh.substr(at + 14, 36))) << fresh;
    }
}

TEST_F(ServerTest, errors_are_the_service_s_json_with_the_request_id) {
    start();
    auto not_found = ask_raw(get("/nowhere", "X-Request-Id: abc\r\nConnection: close\r\n"));
    EXPECT_TRUE(not_found.starts_with("HTTP/1.1 404 Not Found\r\n")) << not_found;
    EXPECT_NE(not_found.find(R"("request_id":"abc")"), std::string::npos) << not_found;
    auto not_allowed = ask_raw("PUT /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(not_allowed.starts_with("HTTP/1.1 405 ")) << not_allowed;
    EXPECT_NE(not_allowed.find("Allow: GET, HEAD\r\n"), std::string::npos) << not_allowed;
}

TEST_F(ServerTest, path_query_and_address_reach_the_handler_decoded) {
    start();
    auto response = send("GET", "/request?a=1%202&a=%26");
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "/request from 127.0.0.1 a=1 2 a=&");
}

TEST_F(ServerTest, pipelined_requests_are_answered_one_after_another) {
    start();
    auto connection = raw();
    connection.send(get("/hello") + "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" + get("/nowhere") +
                    get("/hello", "Connection: close\r\n"));
    auto all = connection.read();
    auto first = all.find("hello"), second = all.find("abc"), third = all.find("404"), fourth = all.rfind("hello");
    EXPECT_TRUE(first < second && second < third && third < fourth && fourth != std::string::npos) << all;
    EXPECT_TRUE(connection.ended());
}

TEST_F(ServerTest, bodies_come_by_length_or_in_chunks) {
    start();
    auto head = std::string("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    EXPECT_TRUE(ask_raw(head + "Content-Length: 5\r\n\r\n12345").ends_with("\r\n\r\n12345"));
    EXPECT_TRUE(ask_raw(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: 1\r\n\r\n")
                    .ends_with("\r\n\r\nabcdefg"));
    EXPECT_TRUE(ask_raw(head + "\r\n").ends_with("Content-Length: 0\r\nConnection: close\r\n\r\n"));
}

// Whatever the packets' borders are, the request is the same. (Beast asserts on an empty chunked body in pieces.)
TEST_F(ServerTest, a_request_may_come_byte_by_byte) {
    start();
    auto head = std::string("\r\nPOST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (auto [body, decoded] : {std::pair{"2\r\nab\r\nA\r\n0123456789\r\n0\r\n\r\n", "ab0123456789"},
                                 {"0\r\n\r\n", ""},
                                 {"0\r\nTrailer: x\r\n\r\n", ""}}) {
        auto connection = raw();
        for (char c : head + body) {
            connection.send(std::string(1, c));
            test::settle(io_);
        }
        auto answer = connection.read(std::string("\r\n\r\n") + decoded);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK")) << answer;
    }
}

TEST_F(ServerTest, head_has_get_s_headers_and_no_body) {
    start();
    auto connection = raw();
    connection.send("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n" + get("/hello", "Connection: close\r\n"));
    auto head = connection.read("\r\n\r\n");
    EXPECT_NE(head.find("Content-Length: 5\r\n"), std::string::npos) << head;
    EXPECT_TRUE(connection.read().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ServerTest, no_content_has_neither_body_nor_length) {
    start();
    auto answer = ask_raw(get("/empty", "Connection: close\r\n"));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 204 No Content\r\n")) << answer;
    EXPECT_EQ(answer.find("Content-Length"), std::string::npos) << answer;
}

TEST_F(ServerTest, old_clients_get_a_connection_per_request_unless_they_ask) {
    start();
    EXPECT_TRUE(ask_raw("GET /hello HTTP/1.0\r\n\r\n").ends_with("hello"));
    auto connection = raw();
    connection.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(connection.read("hello").find("Connection: keep-alive\r\n"), std::string::npos);
    connection.send("GET /hello HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(connection.read().ends_with("hello"));
}

TEST_F(ServerTest, a_client_that_asks_first_is_told_to_continue) {
    start();
    auto connection = raw();
    connection.send("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(connection.read("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    connection.send("ok");
    EXPECT_TRUE(connection.read("\r\n\r\nok").starts_with("HTTP/1.1 200 OK\r\n"));
}

// A client that asks first and is refused does not send the body, so the next bytes can't be told apart.
TEST_F(ServerTest, a_client_that_asks_first_is_refused_without_a_body) {
    start();
    auto connection = raw();
    connection.send("POST /nowhere HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    auto answer = connection.read("}");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 404 ")) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
}

// A refused request with a small body costs the client no new connection.
TEST_F(ServerTest, a_small_body_of_a_refused_request_is_read_past) {
    start();
    auto connection = raw();
    connection.send("POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123456789" +
                    get("/hello", "Connection: close\r\n"));
    auto answers = connection.read();
    EXPECT_TRUE(answers.starts_with("HTTP/1.1 404 ")) << answers;
    EXPECT_TRUE(answers.ends_with("hello")) << answers;
}

TEST_F(ServerTest, a_handler_that_throws_is_500_without_the_inner_text) {
    start();
    auto connection = raw();
    connection.send(get("/fails", "X-Request-Id: find-me\r\n"));
    auto answer = connection.read("}");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
    EXPECT_NE(answer.find("find-me"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("inner secret"), std::string::npos) << answer;
    connection.send(get("/hello"));
    EXPECT_TRUE(connection.read("hello").ends_with("hello"));
}

TEST_F(ServerTest, header_values_of_a_handler_can_not_split_the_answer) {
    add("GET", "/inject", [](Request) -> Task<Response> {
        Response response;
        response.headers.add("Location", "/x\r\nSet-Cookie: a=b");
        response.headers.add("Content-Length", "7");
        co_return response;
    });
    start();
    auto answer = ask_raw(get("/inject", "Connection: close\r\n"));
    EXPECT_NE(answer.find("Location: /x  Set-Cookie: a=b\r\n"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("Content-Length: 7"), std::string::npos) << answer;
}

TEST_F(ServerTest, a_large_answer_arrives_whole) {
    std::string large(8 * 1024 * 1024, 'x');
    add("GET", "/large", [&](Request) -> Task<Response> { co_return text(large); });
    start();
    auto response = send("GET", "/large");
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, large);
}

TEST_F(ServerTest, says_why_it_can_not_listen) {
    start();
    for (auto [bind, code] : {std::pair<std::string, Code>{server_->address(), Code::unavailable},
                              {"nonsense", Code::invalid_argument},
                              {"127.0.0.1:70000", Code::invalid_argument},
                              {"::1:80", Code::invalid_argument}}) {
        Server other(io_.get_executor(), {.bind = bind}, router_, random_);
        auto listening = other.listen();
        ASSERT_FALSE(listening) << bind;
        EXPECT_EQ(listening.error().code(), code) << listening.error().message();
    }
}

TEST_F(ServerTest, serves_ipv6) {
    start({.bind = "[::1]:0"});
    EXPECT_TRUE(server_->address().starts_with("[::1]:")) << server_->address();
    auto response = send("GET", "/request");
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, "/request from ::1");
}

}  // namespace
}  // namespace sandbox::http
