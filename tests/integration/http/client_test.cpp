

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "http_fixture.hpp"

namespace sandbox::http {
namespace {

class ClientTest : public HttpTest {};

TEST_F(ClientTest, sends_and_receives) {
    start();
    auto response = send("POST", "/echo", "some bytes");
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 200u);
    EXPECT_EQ(response->body, "some bytes");
    EXPECT_NE(response->headers.find("x-request-id"), nullptr);
}

TEST_F(ClientTest, the_status_is_the_caller_s_to_judge) {
    start();
    EXPECT_EQ(send("GET", "/nowhere")->status, 404u);
    EXPECT_EQ(send("GET", "/fails")->status, 500u);
    EXPECT_EQ(send("GET", "/empty")->status, 204u);
    EXPECT_EQ(send("HEAD", "/hello")->body, "");
    EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(ClientTest, a_thousand_requests_use_one_connection) {
    start();
    for (int i = 0; i < 1000; ++i) {
        auto response = send("GET", "/hello");
        ASSERT_TRUE(response) << response.error().message();
        ASSERT_EQ(response->body, "hello");
    }
    EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(ClientTest, two_hundred_requests_side_by_side) {
    start();
    std::vector<std::string> bodies;
    auto one = [&](int i) -> Task<void> {
        Request request;
        request.method = "POST";
        request.target = "/echo";
        request.body = std::to_string(i) + std::string(10000, 'x');
        auto expected = request.body;
        auto response = co_await client().send(std::move(request), in(10s));
        bodies.push_back(response && response->body == expected ? "right" : "wrong");
    };
    for (int i = 0; i < 200; ++i) asio::co_spawn(io_, one(i), asio::detached);
    EXPECT_TRUE(eventually([&] { return bodies.size() == 200; }));
    EXPECT_EQ(std::ranges::count(bodies, "right"), 200);
    EXPECT_TRUE(eventually([&] { return server_->connections() <= 8; }));  // the rest is not kept
}

TEST_F(ClientTest, a_deadline_ends_a_wait_and_the_server_hears_of_it) {
    start();
    Request request;
    request.target = "/wait";
    auto response = test::run(io_, client().send(std::move(request), in(100ms)));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::deadline_exceeded);
    EXPECT_TRUE(eventually([&] { return cancelled_ == 1; }));
}

TEST_F(ClientTest, a_cancelled_task_ends_its_request) {
    start();
    asio::cancellation_signal cancel;
    std::optional<Result<Response>> answer;
    bool threw = false;
    Request request;
    request.target = "/wait";
    auto done = [&](const std::exception_ptr& failure, Result<Response> response) {
        threw = failure != nullptr;
        answer = std::move(response);
    };
    asio::co_spawn(io_, client().send(std::move(request), in(10s)), asio::bind_cancellation_slot(cancel.slot(), done));
    ASSERT_TRUE(eventually([&] { return waiting_ == 1; }));

    cancel.emit(asio::cancellation_type::terminal);

    EXPECT_TRUE(eventually([&] { return answer.has_value() && cancelled_ == 1; }));
    EXPECT_TRUE(threw || answer->error().code() == Code::cancelled);
}

TEST_F(ClientTest, a_server_that_is_not_there_is_named) {
    start();
    auto address = server_->address();
    client();
    test::run(io_, server_->stop(in(1s)));
    auto response = send("GET", "/hello");
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::unavailable);
    EXPECT_EQ(response.error().message(), "can't connect to http://" + address + ": Connection refused");
}

TEST_F(ClientTest, a_name_that_does_not_exist_is_an_error) {
    start();
    Client other(io_.get_executor(), {.server = *Url::parse("http://no-such-host.invalid")});
    auto response = test::run(io_, other.send({}, in(10s)));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::unavailable) << response.error().message();
}

TEST_F(ClientTest, finds_the_server_by_name) {
    start();
    auto port = server_->address().substr(server_->address().rfind(':'));
    Client other(io_.get_executor(), {.server = *Url::parse("http://localhost" + port)});
    Request request;
    request.target = "/hello";
    auto response = test::run(io_, other.send(std::move(request), in(5s)));
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, "hello");
}

TEST_F(ClientTest, an_answer_past_the_limit_is_an_error) {
    std::string large(2000, 'x');
    add("GET", "/large", [&](Request) -> Task<Response> { co_return text(large); });
    start();
    auto settings = client_settings();
    settings.response_limit_bytes = 1999;
    Client small(io_.get_executor(), settings);
    Request request;
    request.target = "/large";
    auto response = test::run(io_, small.send(request, in(5s)));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::unavailable);
    settings.response_limit_bytes = 2000;
    Client enough(io_.get_executor(), settings);
    EXPECT_TRUE(test::run(io_, enough.send(request, in(5s))));
}

TEST_F(ClientTest, a_malformed_request_is_not_sent) {
    start();
    for (auto [method, target] : {std::pair{"GET", "no-slash"}, {"GET", "/a b"}, {"GE T", "/"}, {"GET", "/\r\nX: y"}}) {
        auto response = send(method, target);
        ASSERT_FALSE(response);
        EXPECT_EQ(response.error().code(), Code::invalid_argument);
    }
    EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ClientTest, the_path_prefix_goes_before_every_target) {
    start();
    auto settings = client_settings();
    settings.server.path_prefix = "/request";
    add("GET", "/request/{x}", [](Request request) -> Task<Response> { co_return text(request.target); });
    Client prefixed(io_.get_executor(), settings);
    Request request;
    request.target = "/v1?a=b";
    auto response = test::run(io_, prefixed.send(std::move(request), in(5s)));
    EXPECT_EQ(response->body, "/request/v1?a=b");
}

TEST_F(ClientTest, a_stream_s_pieces_come_as_they_are_written) {
    start();
    std::vector<std::string> pieces;
    Request request;
    request.target = "/stream";
    auto collect = [&](std::string_view bytes) {
        pieces.emplace_back(bytes);
        return true;
    };
    auto task = client().stream(std::move(request), collect, in(5s));
    auto response = test::run(io_, std::move(task));
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 200u);
    ASSERT_GE(pieces.size(), 2u);
    EXPECT_EQ(pieces.back(), "last\n");
    std::string all;
    for (const auto& piece : pieces) all += piece;
    EXPECT_EQ(all, "piece 0\npiece 1\npiece 2\nlast\n");
}

TEST_F(ClientTest, a_stream_can_be_ended_early) {
    start();
    Request request;
    request.target = "/stream";
    int pieces = 0;
    auto enough = [&](std::string_view) { return ++pieces < 1; };
    auto response = test::run(io_, client().stream(std::move(request), enough, in(5s)));
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(pieces, 1);
    EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(ClientTest, a_refused_stream_has_its_error_in_the_body) {
    start();
    Request request;
    request.target = "/nowhere";
    auto none = [](std::string_view) {
        ADD_FAILURE() << "an error's body is no data";
        return true;
    };
    auto response = test::run(io_, client().stream(std::move(request), none, in(5s)));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 404u);
    EXPECT_NE(response->body.find("no such path"), std::string::npos);
}

TEST_F(ClientTest, an_upgrade_gives_a_stream_in_both_directions) {
    start();
    Request request;
    request.target = "/upgrade";
    auto upgraded = test::run(io_, client().upgrade(std::move(request), "bytes", in(5s)));
    ASSERT_TRUE(upgraded) << upgraded.error().message();
    ASSERT_EQ(taken_.size(), 1u);
    auto& near = **upgraded;
    auto& far = *taken_[0];
    std::string buffer(100, '\0');
    EXPECT_TRUE(test::run(io_, near.write("there", in(1s))));
    EXPECT_EQ(test::run(io_, far.read_some(buffer, in(1s))), 5u);

    near.shutdown_write();
    EXPECT_EQ(test::run(io_, far.read_some(buffer, in(1s))), 0u);
    EXPECT_TRUE(test::run(io_, far.write("and back", in(1s))));
    EXPECT_EQ(test::run(io_, near.read_some(buffer, in(1s))), 8u);

    auto late = test::run(io_, near.read_some(buffer, in(10ms)));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), Code::deadline_exceeded);
    EXPECT_TRUE(test::run(io_, far.write("!", in(1s))));  // a deadline loses nothing
    EXPECT_EQ(test::run(io_, near.read_some(buffer, in(1s))), 1u);
}

TEST_F(ClientTest, a_closed_stream_ends_a_pending_read) {
    start();
    Request request;
    request.target = "/upgrade";
    auto upgraded = test::run(io_, client().upgrade(std::move(request), "bytes", in(5s)));
    ASSERT_TRUE(upgraded);
    std::string buffer(100, '\0');
    std::optional<Result<std::size_t>> read;
    auto done = [&](const std::exception_ptr&, Result<std::size_t> result) { read = std::move(result); };
    asio::co_spawn(io_, (*upgraded)->read_some(buffer, Deadline::max()), done);
    test::settle(io_);
    (*upgraded)->close();
    ASSERT_TRUE(eventually([&] { return read.has_value(); }));
    EXPECT_EQ(read->error().code(), Code::unavailable);
}

TEST_F(ClientTest, a_refused_upgrade_says_why) {
    start();
    add("GET", "/busy", [](Request) -> Task<Response> { co_return json_error(409, "busy with another", ""); });
    for (auto [target, code, message] : {std::tuple{"/nowhere", Code::not_found, "no such path"},
                                         {"/busy", Code::conflict, "busy with another"},
                                         {"/fails", Code::unavailable, "500"}}) {
        Request request;
        request.target = target;
        auto upgraded = test::run(io_, client().upgrade(std::move(request), "bytes", in(5s)));
        ASSERT_FALSE(upgraded);
        EXPECT_EQ(upgraded.error().code(), code);
        EXPECT_NE(upgraded.error().message().find(message), std::string::npos) << upgraded.error().message();
    }
}

}  // namespace
}  // namespace sandbox::http
