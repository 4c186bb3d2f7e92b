#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answering_server.hpp"

namespace sandbox::client {
namespace {

using namespace std::chrono_literals;
using test::AnsweringServer;
using test::run;
using ::testing::HasSubstr;
using Numbers = std::vector<std::uint64_t>;

std::string frame(std::uint64_t sequence) {
    constexpr auto kId = "019f0000-0000-7000-8000-000000000001";
    return fmt::format(
        "id: {0}\ndata: {{\"sequence\": {0}, \"event_id\": \"{1}\", \"event_type\": \"sandbox.lost\", \"tenant\": "
        "\"t\","
        "\"sandbox_id\": \"{1}\", \"node_id\": \"{1}\", \"timestamp\": \"2026-11-30T03:04:05Z\","
        "\"attributes\": {{}}}}\n\n",
        sequence, kId);
}

/// A stream that says this and then ends, or stays open without a word.
http::Response stream_of(std::string text, bool stays_open = false, std::string type = "text/event-stream") {
    http::Response response;
    response.headers.add("Content-Type", std::move(type));
    response.stream = [text = std::move(text), stays_open](http::BodyWriter& to) {
        auto write = [](http::BodyWriter& out, std::string what, bool open) -> Task<void> {
            (void)co_await out.write(what);
            asio::steady_timer timer(co_await asio::this_coro::executor, open ? 1h : 0h);
            co_await timer.async_wait(asio::use_awaitable);
        };
        return write(to, text, stays_open);
    };
    return response;
}

class Follow : public testing::Test {
protected:
    Answer<void> follow(std::size_t until_count, EventQuery query = {}) {
        Client client(server.io.get_executor(), server.settings());
        following.on_event = [&](const api::LoggedEvent& logged) {
            seen.push_back(logged.sequence);
            return seen.size() < until_count;
        };
        following.on_away = [&](const Failure& failure) { away.push_back(failure.error.message()); };
        following.on_back = [&] { ++back; };
        return run(server.io, client.follow(query, following));
    }

    AnsweringServer server;
    Following following;
    Numbers seen;
    std::vector<std::string> away;
    int back = 0;
};

TEST_F(Follow, asks_for_the_stream_after_the_number_and_gives_what_comes) {
    server.answers.push_back(stream_of(": hello\n\n" + frame(8) + frame(9), true));

    EXPECT_TRUE(follow(2, {.after = 7, .tenant = "a b", .limit = {}}));

    EXPECT_EQ(seen, (Numbers{8, 9}));
    EXPECT_EQ(server.requests.at(0).target, "/v1/events?follow=true&after=7&tenant=a%20b");
    EXPECT_TRUE(away.empty());
}

// A server that goes away is asked again, after the last number; what it repeats is not given twice.
TEST_F(Follow, goes_on_after_the_last_event_when_the_server_comes_back) {
    server.answers.push_back(stream_of(frame(1) + frame(2)));
    server.answer(503, R"({"code": "unavailable", "message": "later", "request_id": "", "details": {}})");
    server.answers.push_back(stream_of(frame(2) + frame(3), true));

    EXPECT_TRUE(follow(3));

    EXPECT_EQ(seen, (Numbers{1, 2, 3}));
    ASSERT_EQ(server.requests.size(), 3U);
    EXPECT_THAT(server.requests[2].target, HasSubstr("after=2"));
    EXPECT_EQ(away, std::vector<std::string>{"the server has ended the stream"});
    EXPECT_EQ(back, 1);
}

// A connection that died without a word is noticed.
TEST_F(Follow, leaves_a_server_that_has_fallen_silent) {
    following.silence = 300ms;
    server.answers.push_back(stream_of(frame(1), true));
    server.answers.push_back(stream_of(frame(2), true));

    EXPECT_TRUE(follow(2));

    EXPECT_EQ(away, std::vector<std::string>{"the server has fallen silent"});
}

TEST_F(Follow, gives_up_at_once_on_what_will_not_mend) {
    server.answer(401, R"({"code": "unauthorized", "message": "no", "request_id": "r", "details": {}})");
    const auto refused = follow(1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, 401U);

    server.answers.clear();
    server.answer(503, "");
    EXPECT_FALSE(follow(1));  // nobody has ever answered: the address may be wrong
    EXPECT_EQ(server.requests.size(), 2U);
}

TEST_F(Follow, says_so_when_an_answer_is_no_event_stream) {
    server.answers.push_back(stream_of("<html>hello</html>", false, "text/html"));
    const auto other = follow(1);
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().error.message(), HasSubstr("no event stream"));

    server.answers = {stream_of("data: {\"sequence\": -1}\n\n", true)};
    const auto wrong = follow(1);
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().error.message(), HasSubstr("could not be understood"));
}

TEST_F(Follow, ends_when_it_is_cancelled) {
    server.answers.push_back(stream_of(frame(1), true));
    Client client(server.io.get_executor(), server.settings());
    asio::cancellation_signal cancel;
    following.on_event = [&](const api::LoggedEvent&) {
        asio::post(server.io, [&] { cancel.emit(asio::cancellation_type::terminal); });
        return true;
    };
    std::optional<boost::system::error_code> thrown;
    asio::co_spawn(server.io, client.follow({}, following),
                   asio::bind_cancellation_slot(cancel.slot(), [&](const std::exception_ptr& failure, const auto&) {
                       try {
                           std::rethrow_exception(failure);
                       } catch (const boost::system::system_error& error) {
                           thrown = error.code();
                       }
                   }));
    for (const auto until = in(10s); !thrown && std::chrono::steady_clock::now() < until;) server.io.run_one_for(10ms);

    EXPECT_EQ(thrown, boost::system::error_code(asio::error::operation_aborted));
}

}  // namespace
}  // namespace sandbox::client
