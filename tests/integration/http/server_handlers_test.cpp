#include "http_fixture.hpp"

namespace sandbox::http {
namespace {

class ServerHandlersTest : public HttpTest {
protected:
    RawConnection begin(const std::string& target, int handlers = 1) {
        auto connection = raw();
        connection.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
        EXPECT_TRUE(eventually([&] { return waiting_ == handlers; }));
        return connection;
    }
};

TEST_F(ServerHandlersTest, a_client_that_leaves_cancels_its_handler) {
    start();
    auto connection = begin("/wait");
    connection.close();
    EXPECT_TRUE(eventually([&] { return cancelled_ == 1 && server_->connections() == 0; }));
}

TEST_F(ServerHandlersTest, a_client_that_ends_its_side_is_gone_too) {
    start();
    auto connection = begin("/wait");
    connection.end_writing();
    EXPECT_TRUE(eventually([&] { return cancelled_ == 1; }));
    EXPECT_EQ(connection.read(), "");
}

// The end hides behind a pipelined request; it is found all the same.
TEST_F(ServerHandlersTest, a_client_that_pipelines_and_leaves_is_gone) {
    start();
    auto connection = begin("/wait");
    connection.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    connection.close();
    EXPECT_TRUE(eventually([&] { return cancelled_ == 1 && server_->connections() == 0; }));
}

TEST_F(ServerHandlersTest, a_request_that_is_pipelined_behind_a_long_poll_waits_its_turn) {
    start();
    auto connection = begin("/wait");
    connection.send("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(connection.read("hello", 20ms), "");
    go_.notify_all();
    auto answers = connection.read();
    EXPECT_LT(answers.find("waited"), answers.find("hello"));
    EXPECT_TRUE(answers.ends_with("hello")) << answers;
}

// An answer is answered even when the client half-closed right behind its request, as nc does.
TEST_F(ServerHandlersTest, a_quick_answer_reaches_a_client_that_has_ended_its_side) {
    start();
    auto connection = raw();
    connection.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    connection.end_writing();
    EXPECT_TRUE(connection.read().ends_with("hello"));
}

TEST_F(ServerHandlersTest, what_an_undelivered_answer_carried_is_taken_back) {
    start();
    auto connection = begin("/lease");
    connection.close();
    EXPECT_TRUE(eventually([&] { return undelivered_ == 1; }));
    EXPECT_EQ(cancelled_, 1);
}

// Answer and leaving at the same moment: the end of the client is looked for once more before the answer goes out.
TEST_F(ServerHandlersTest, an_answer_made_while_the_client_leaves_is_undelivered) {
    start();
    auto connection = begin("/lease");
    connection.close();
    go_.notify_all();
    EXPECT_TRUE(eventually([&] { return undelivered_ == 1; }));
}

TEST_F(ServerHandlersTest, a_delivered_answer_is_not_taken_back) {
    start();
    auto connection = begin("/lease");
    go_.notify_all();
    EXPECT_TRUE(connection.read("leased").ends_with("leased"));
    EXPECT_EQ(undelivered_, 0);
}

TEST_F(ServerHandlersTest, a_body_can_be_written_in_pieces_as_they_come) {
    start();
    auto connection = begin("/stream");
    auto begun = connection.read("piece 2\n\r\n");
    EXPECT_NE(begun.find("Transfer-Encoding: chunked\r\n"), std::string::npos) << begun;
    EXPECT_NE(begun.find("8\r\npiece 0\n\r\n8\r\npiece 1\n\r\n"), std::string::npos) << begun;
    EXPECT_EQ(connection.read("0\r\n\r\n"), "5\r\nlast\n\r\n0\r\n\r\n");
    connection.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(connection.read("hello").ends_with("hello"));
}

TEST_F(ServerHandlersTest, an_old_client_gets_pieces_up_to_the_close) {
    start();
    auto answer = ask_raw("GET /stream HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(answer.ends_with("\r\n\r\npiece 0\npiece 1\npiece 2\nlast\n")) << answer;
}

TEST_F(ServerHandlersTest, a_reader_of_a_stream_that_leaves_cancels_its_writer) {
    add("GET", "/endless", [this](Request) -> Task<Response> {
        Response response;
        response.on_undelivered = [this] { ++undelivered_; };
        response.stream = [this](BodyWriter& writer) -> Task<void> {
            co_await writer.write("begin");
            ++waiting_;
            try {
                co_await go_.wait(Deadline::max());
            } catch (const boost::system::system_error&) {
                ++cancelled_;
            }
        };
        co_return response;
    });
    start();
    auto connection = begin("/endless");
    connection.close();
    EXPECT_TRUE(eventually([&] { return cancelled_ == 1 && undelivered_ == 1 && server_->connections() == 0; }));
}

TEST_F(ServerHandlersTest, an_upgrade_hands_over_the_connection_with_what_was_already_read) {
    start();
    auto connection = raw();
    connection.send("GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\nearly");
    auto head = connection.read("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
    EXPECT_NE(head.find("Connection: Upgrade\r\n"), std::string::npos) << head;
    ASSERT_EQ(taken_.size(), 1u);
    auto& stream = *taken_[0];

    std::string buffer(100, '\0');
    EXPECT_EQ(test::run(io_, stream.read_some(buffer, in(1s))), 5u);
    EXPECT_TRUE(buffer.starts_with("early"));
    connection.send("later");
    EXPECT_EQ(test::run(io_, stream.read_some(buffer, in(1s))), 5u);
    EXPECT_TRUE(test::run(io_, stream.write("back", in(1s))));
    EXPECT_EQ(connection.read("back"), "back");

    EXPECT_EQ(server_->connections(), 1u);
    taken_.clear();
    EXPECT_EQ(server_->connections(), 0u);
    EXPECT_EQ(connection.read(), "");
    EXPECT_TRUE(connection.ended());
}

TEST_F(ServerHandlersTest, stop_lets_requests_finish_and_closes_idle_connections) {
    start();
    auto busy = begin("/wait");
    auto idle = raw();
    idle.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    idle.read("hello");

    auto finish = [](HttpTest*, async::Signal& go, asio::io_context& io) -> Task<void> {
        asio::steady_timer timer(io, 20ms);
        co_await timer.async_wait(asio::use_awaitable);
        go.notify_all();
    };
    asio::co_spawn(io_, finish(this, go_, io_), asio::detached);
    test::run(io_, server_->stop(in(5s)));

    EXPECT_EQ(idle.read(), "");
    EXPECT_TRUE(idle.ended());
    auto answer = busy.read();
    EXPECT_TRUE(answer.ends_with("waited")) << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
    EXPECT_EQ(cancelled_, 0);
    EXPECT_THROW(raw(), boost::system::system_error);
}

TEST_F(ServerHandlersTest, stop_cancels_what_is_not_finished_by_the_deadline) {
    start();
    auto busy = begin("/wait");
    test::run(io_, server_->stop(in(20ms)));
    EXPECT_EQ(cancelled_, 1);
    EXPECT_EQ(server_->connections(), 0u);
    EXPECT_EQ(busy.read(), "");
}

TEST_F(ServerHandlersTest, going_away_without_stop_cancels_handlers) {
    start();
    auto busy = begin("/wait");
    server_.reset();
    EXPECT_TRUE(eventually([&] { return cancelled_ == 1; }));
    EXPECT_EQ(busy.read(), "");
}

}  // namespace
}  // namespace sandbox::http
