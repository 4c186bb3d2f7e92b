#include "http_fixture.hpp"

namespace sandbox::http {
namespace {

class ServerLimitsTest : public HttpTest {};

TEST_F(ServerLimitsTest, a_header_over_16_kib_is_431) {
    start();
    auto fits = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: " + std::string(16 * 1024 - 60, 'x');
    EXPECT_TRUE(ask_raw(fits + "\r\n\r\n").starts_with("HTTP/1.1 200 "));
    auto over = ask_raw(fits + std::string(64 * 1024, 'y') + "\r\n\r\n");
    EXPECT_TRUE(over.starts_with("HTTP/1.1 431 ")) << over;
    EXPECT_NE(over.find("application/json"), std::string::npos);
}

// Told from the announced length alone: the client has not sent a byte of the body.
TEST_F(ServerLimitsTest, an_announced_body_over_the_limit_is_413_before_it_comes) {
    start();
    auto connection = raw();
    connection.send(fmt::format("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", kBodyLimit + 1));
    EXPECT_TRUE(connection.read("}").starts_with("HTTP/1.1 413 "));
}

TEST_F(ServerLimitsTest, a_chunked_body_over_the_limit_is_413_before_its_end) {
    start();
    auto connection = raw();
    connection.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.send(fmt::format("{:x}\r\n{}", kBodyLimit + 1, std::string(kBodyLimit + 1, 'x')));
    EXPECT_TRUE(connection.read("}").starts_with("HTTP/1.1 413 "));
}

TEST_F(ServerLimitsTest, a_body_of_just_the_limit_is_taken) {
    start();
    std::string body(kBodyLimit, 'x');
    auto response = send("POST", "/echo", body);
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, body);
}

// A client that writes all of a refused body first must still get the answer, not a reset connection.
TEST_F(ServerLimitsTest, a_client_that_sends_all_of_a_refused_body_reads_the_answer) {
    start();
    auto connection = raw();
    std::string body(8 * 1024 * 1024, 'x');
    connection.send(fmt::format("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.size()) + body);
    auto answer = connection.read();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
    EXPECT_FALSE(connection.reset());

    auto response = send("POST", "/echo", body);
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 413u);
}

TEST_F(ServerLimitsTest, lingering_for_a_refused_client_ends) {
    start({.linger_timeout = 50ms});
    auto connection = raw();
    connection.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
    connection.read("}");
    EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

// One byte now and then does not keep a request alive: the time is for all of it.
TEST_F(ServerLimitsTest, a_request_that_trickles_in_is_408) {
    start({.request_timeout = 100ms});
    auto connection = raw();
    std::string answer;
    connection.send("GET /hello HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 50 && answer.empty(); ++i) {
        connection.send("X: y\r\n");
        answer = connection.read("}", 10ms);
    }
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
    EXPECT_NE(answer.find("application/json"), std::string::npos);
}

TEST_F(ServerLimitsTest, a_body_that_does_not_come_is_408) {
    start({.request_timeout = 50ms});
    auto answer = ask_raw("POST /echo HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\nContent-Length: 5\r\n\r\n12");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
    EXPECT_NE(answer.find("X-Request-Id: slow\r\n"), std::string::npos) << answer;
}

TEST_F(ServerLimitsTest, a_connection_without_a_request_is_closed_silently) {
    start({.request_timeout = 30ms});
    EXPECT_EQ(ask_raw(""), "");
    EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerLimitsTest, an_idle_connection_is_closed_after_its_time) {
    start({.idle_timeout = 50ms});
    auto connection = raw();
    connection.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    connection.read("hello");
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(connection.read(), "");
    EXPECT_TRUE(connection.ended());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 40ms);
}

// A handler that waits is no idle connection and no slow request.
TEST_F(ServerLimitsTest, a_long_poll_outlives_the_time_limits) {
    start({.request_timeout = 30ms, .idle_timeout = 30ms, .write_timeout = 30ms});
    auto connection = raw();
    connection.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(connection.read("waited", 150ms), "");
    go_.notify_all();
    EXPECT_TRUE(connection.read("waited").ends_with("waited"));
}

TEST_F(ServerLimitsTest, past_the_limit_of_connections_is_503_and_close) {
    start({.max_connections = 2});
    auto first = raw();
    auto second = raw();
    for (auto* connection : {&first, &second}) {
        connection->send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        connection->read("hello");
    }

    auto refused = ask_raw("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: third\r\n\r\n");
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
    EXPECT_NE(refused.find("X-Request-Id: third"), std::string::npos) << refused;

    first.close();
    EXPECT_TRUE(eventually([&] { return server_->connections() == 1; }));
    EXPECT_TRUE(ask_raw("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ends_with("hello"));
}

// A client that does not take its answer is let go of.
TEST_F(ServerLimitsTest, an_answer_that_is_not_taken_ends_the_connection) {
    std::string large(32 * 1024 * 1024, 'x');
    add("GET", "/large", [&](Request) -> Task<Response> {
        auto response = text(large);
        response.on_undelivered = [this] { ++undelivered_; };
        co_return response;
    });
    start({.write_timeout = 50ms});
    auto connection = raw();
    connection.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
    EXPECT_EQ(undelivered_, 1);
}

// Who calls about a refusal names its id: it stands in head, body and log alike.
TEST_F(ServerLimitsTest, each_refusal_has_one_id_and_is_told_to_the_observer) {
    std::vector<std::string> told;
    std::string id;
    router_.observe([&](const Request& request, std::string_view pattern, unsigned status, auto) {
        told.push_back(fmt::format("{} {} {} {}", request.method, pattern, status, request.remote_address));
        id = request.request_id;
    });
    start();
    for (const auto& bytes :
         {"GET /hello HTTP/1.1\r\nHost: x\r\nX: " + std::string(64 * 1024, 'y') + "\r\n\r\n",
          std::string("NO HTTP\r\n\r\n"), std::string("GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
          "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n" + std::string(99, 'x')}) {
        id.clear();
        const auto answer = ask_raw(bytes);
        ASSERT_NE(id, "") << answer;
        EXPECT_NE(answer.find("X-Request-Id: " + id + "\r\n"), std::string::npos) << answer;
        EXPECT_NE(answer.find("\"request_id\":\"" + id + "\""), std::string::npos) << answer;
    }
    EXPECT_EQ(told, (std::vector<std::string>{"  431 127.0.0.1", "  400 127.0.0.1", "GET /hello 400 127.0.0.1",
                                              "POST /echo 413 127.0.0.1"}));
}

}  // namespace
}  // namespace sandbox::http
