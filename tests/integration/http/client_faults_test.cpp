#include <filesystem>
#include <unistd.h>

#include "http_fixture.hpp"
#include "scripted_server.hpp"

namespace sandbox::http {
namespace {

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A client of a server that does as its script says.
class ClientFaultsTest : public testing::Test {
protected:
    using Server = ScriptedServer<>;

    void serve(std::vector<Server::Answers> connections) {
        server_.emplace(io_, std::move(connections));
        client_.emplace(io_.get_executor(),
                        ClientSettings{.server = *Url::parse("http://" + server_->address()), .ca_file = {}});
    }
    Result<Response> send(std::string method) {
        Request request;
        request.method = std::move(method);
        return test::run(io_, client_->send(std::move(request), in(5s)));
    }

    asio::io_context io_{1};
    std::optional<Server> server_;
    std::optional<Client> client_;
};

TEST_F(ClientFaultsTest, a_kept_connection_that_was_closed_meanwhile_is_replaced) {
    serve({{kOk}, {kOk}});
    EXPECT_EQ(send("POST")->body, "ok");
    test::settle(io_);
    auto again = send("POST");
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(server_->accepted, 2u);
}

// The server takes the second request of a kept connection and closes without a word: it may have done it, or not.
TEST_F(ClientFaultsTest, what_can_be_repeated_is_sent_again_on_a_new_connection) {
    for (std::string method : {"GET", "HEAD", "DELETE"}) {
        serve({{kOk, ""}, {kOk}});
        EXPECT_TRUE(send("GET"));
        auto again = send(method);
        ASSERT_TRUE(again) << method << ": " << again.error().message();
        EXPECT_EQ(server_->requests.size(), 3u);
    }
}

TEST_F(ClientFaultsTest, a_post_that_may_have_arrived_is_not_sent_again) {
    serve({{kOk, ""}, {kOk}});
    EXPECT_TRUE(send("GET"));
    auto again = send("POST");
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code(), Code::unavailable);
    EXPECT_EQ(server_->requests.size(), 2u);
}

TEST_F(ClientFaultsTest, an_answer_that_began_is_not_asked_for_again) {
    serve({{kOk, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"}, {kOk}});
    EXPECT_TRUE(send("GET"));
    auto again = send("GET");
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code(), Code::unavailable);
    EXPECT_EQ(server_->requests.size(), 2u);
}

TEST_F(ClientFaultsTest, a_fresh_connection_that_closes_is_an_error_at_once) {
    serve({{""}, {kOk}});
    auto response = send("GET");
    ASSERT_FALSE(response);
    EXPECT_EQ(server_->accepted, 1u);
}

TEST_F(ClientFaultsTest, what_is_no_http_is_an_error) {
    for (std::string bytes :
         {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
        serve({{bytes}});
        auto response = send("GET");
        ASSERT_FALSE(response) << bytes;
        EXPECT_EQ(response.error().code(), Code::unavailable);
    }
    serve({{"HTTP/1.1 200 OK\r\nX: " + std::string(100 * 1024, 'x') + "\r\n\r\n"}});
    EXPECT_FALSE(send("GET"));
}

TEST_F(ClientFaultsTest, a_tls_alert_says_to_use_https) {
    serve({{std::string("\x15\x03\x03\x00\x02\x02\x46", 7)}});
    auto response = send("GET");
    ASSERT_FALSE(response);
    EXPECT_NE(response.error().message().find("https"), std::string::npos) << response.error().message();
}

TEST_F(ClientFaultsTest, interim_answers_are_passed_over) {
    serve({{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kOk}});
    EXPECT_EQ(send("GET")->body, "ok");
}

TEST_F(ClientFaultsTest, a_body_up_to_the_close_is_whole_and_its_connection_is_not_kept) {
    serve({{"HTTP/1.1 200 OK\r\n\r\nall of it"}, {kOk}});
    EXPECT_EQ(send("GET")->body, "all of it");
    EXPECT_EQ(send("GET")->body, "ok");
    EXPECT_EQ(server_->accepted, 2u);
}

TEST_F(ClientFaultsTest, a_server_that_wants_to_close_is_not_kept) {
    serve({{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"}, {kOk}});
    EXPECT_TRUE(send("POST"));
    EXPECT_TRUE(send("POST"));
    EXPECT_EQ(server_->accepted, 2u);
}

// Bytes that nobody asked for could be taken for the next answer.
TEST_F(ClientFaultsTest, a_connection_with_surplus_bytes_is_not_kept) {
    serve({{kOk + kOk}, {kOk}});
    EXPECT_TRUE(send("POST"));
    EXPECT_TRUE(send("POST"));
    EXPECT_EQ(server_->accepted, 2u);
}

// As the Docker Engine does it: 101 UPGRADED or, for older ones, 200, with the first output right behind the head.
TEST_F(ClientFaultsTest, an_engine_s_attach_is_taken_over_with_what_came_along) {
    for (std::string head : {"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                             "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"}) {
        serve({{head + "first output"}});
        Request request;
        request.method = "POST";
        request.target = "/containers/x/attach?stream=1";
        auto upgraded = test::run(io_, client_->upgrade(std::move(request), "tcp", in(5s)));
        ASSERT_TRUE(upgraded) << upgraded.error().message();
        EXPECT_NE(server_->requests.back().find("Upgrade: tcp\r\n"), std::string::npos);
        std::string got, buffer(5, '\0');
        while (true) {
            auto bytes = test::run(io_, (*upgraded)->read_some(buffer, in(1s)));
            ASSERT_TRUE(bytes) << bytes.error().message();
            if (*bytes == 0) break;
            got.append(buffer, 0, *bytes);
        }
        EXPECT_EQ(got, "first output");
    }
}

TEST(ClientUnixSocketTest, speaks_over_a_unix_socket) {
    using Unix = asio::local::stream_protocol;
    asio::io_context io(1);
    auto folder = std::filesystem::temp_directory_path() / ("http-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    auto path = (folder / "s.sock").string();
    ScriptedServer<Unix> server(io, {{kOk, kOk}}, Unix::endpoint(path));
    Client client(io.get_executor(), {.server = *Url::parse("unix://" + path), .ca_file = {}});
    for (int i = 0; i < 2; ++i) {
        Request request;
        request.target = "/version";
        auto response = test::run(io, client.send(std::move(request), in(5s)));
        ASSERT_TRUE(response) << response.error().message();
        EXPECT_EQ(response->body, "ok");
    }
    EXPECT_EQ(server.accepted, 1u);
    EXPECT_NE(server.requests[0].find("Host: localhost\r\n"), std::string::npos);

    Client nowhere(io.get_executor(), {.server = *Url::parse("unix://" + path + ".not"), .ca_file = {}});
    auto response = test::run(io, nowhere.send({}, in(5s)));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::unavailable);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sandbox::http
