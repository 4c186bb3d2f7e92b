#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "played_worker.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class EventsTest : public ::testing::Test {
protected:
    [[nodiscard]] Start cli(Words words, const std::string& url) const {
        words.insert(words.begin(), program("sandbox"));
        return {.argv = std::move(words),
                .environment = {{"SANDBOX_URL", url}, {"HOME", home_.path()}, {"SANDBOX_TENANT", std::nullopt}}};
    }

    TemporaryDirectory home_;
};

/// The whole lines of a program's output so far, each a JSON object.
std::vector<json> lines_of(const std::string& text) {
    std::vector<json> lines;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        lines.push_back(json::parse(text.substr(at, end - at)));
    return lines;
}

std::vector<std::string> types_of(const std::vector<json>& events) {
    std::vector<std::string> types;
    for (const auto& event : events) types.push_back(event.at("event_type").get<std::string>());
    return types;
}

std::vector<std::uint64_t> numbers_of(const std::vector<json>& events) {
    std::vector<std::uint64_t> numbers;
    for (const auto& event : events) numbers.push_back(event.at("sequence").get<std::uint64_t>());
    return numbers;
}

bool strictly_rising(const std::vector<std::uint64_t>& numbers) {
    return std::ranges::adjacent_find(numbers, std::greater_equal{}) == numbers.end();
}

/// Events by the API, once there are so many.
std::vector<json> logged(const std::string& address, const std::string& query, std::size_t count) {
    std::vector<json> events;
    eventually(10s, [&] {
        events = successful(address, "GET", "/v1/events?" + query).at("events").get<std::vector<json>>();
        return events.size() >= count;
    });
    return events;
}

TEST_F(EventsTest, tell_a_sandboxs_life_in_order_to_the_api_and_the_command) {
    Daemon daemon(controller_alone());
    const PlayedWorker worker(daemon.address());
    const auto id = worker.create("acme");
    static_cast<void>(worker.create("other"));
    worker.work();
    successful(daemon.address(), "DELETE", "/v1/sandboxes/" + id);
    worker.work();

    const auto events = logged(daemon.address(), "tenant=acme", 4);
    const auto shown = run_program(cli({"events", "--tenant", "acme", "--json"}, daemon.url()));
    const auto table = run_program(cli({"events"}, daemon.url()));

    EXPECT_THAT(types_of(events), ElementsAre("sandbox.scheduled", "sandbox.operation_succeeded", "sandbox.stopping",
                                              "sandbox.operation_succeeded"));
    for (const auto& event : events) EXPECT_EQ(event["sandbox_id"], id);
    EXPECT_TRUE(strictly_rising(numbers_of(events)));
    EXPECT_EQ(events[1]["attributes"]["kind"], "create");
    EXPECT_EQ(events[3]["attributes"]["state"], "stopped");
    EXPECT_EQ(json::parse(shown.out), json(events));
    EXPECT_THAT(table.out, HasSubstr("SEQUENCE"));
    EXPECT_THAT(table.out, HasSubstr("node.registered              " + worker.id()));
    EXPECT_THAT(table.out, HasSubstr("kind=create"));
    EXPECT_THAT(table.out, HasSubstr(" other "));
}

TEST_F(EventsTest, come_in_pages_that_go_on_where_the_last_one_ended) {
    Daemon daemon(controller_alone());
    const PlayedWorker worker(daemon.address());
    for (int i = 0; i < 4; ++i) static_cast<void>(worker.create("acme"));
    const auto all = logged(daemon.address(), "limit=1000", 5);

    std::vector<json> read;
    json page;
    for (std::string after = "0"; page.is_null() || !page["events"].empty(); after = page["next"].dump()) {
        page = successful(daemon.address(), "GET", "/v1/events?limit=2&after=" + after);
        for (const auto& event : page["events"]) read.push_back(event);
    }

    EXPECT_EQ(read, all);
    EXPECT_EQ(page["next"], all.back()["sequence"]);
}

TEST_F(EventsTest, are_followed_live_until_ctrl_c) {
    Daemon daemon(controller_alone());
    Process follow(cli({"events", "--follow", "--tenant", "acme", "--json"}, daemon.url()));
    const PlayedWorker worker(daemon.address());

    for (std::size_t n = 1; n <= 3; ++n) {
        static_cast<void>(worker.create("other"));
        static_cast<void>(worker.create("acme"));
        EXPECT_TRUE(eventually(20s, [&] { return lines_of(follow.out()).size() == n; })) << n;
    }
    follow.signal(SIGINT);
    const auto ended = follow.wait(10s);

    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(lines_of(ended.out), logged(daemon.address(), "tenant=acme", 3));
}

// A server that is killed and started again is waited for: nothing is left out, nothing is shown twice.
TEST_F(EventsTest, are_followed_over_a_restart_of_the_server) {
    Daemon daemon(controller_alone());
    Process follow(cli({"events", "--follow", "--json"}, daemon.url()));
    Process people(cli({"events", "--follow"}, daemon.url()));
    static_cast<void>(PlayedWorker(daemon.address(), 1));
    ASSERT_TRUE(eventually(20s, [&] { return lines_of(follow.out()).size() == 1; }));
    ASSERT_TRUE(eventually(20s, [&] { return people.out().find("node.registered") != std::string::npos; }));

    daemon.restart_after_kill();
    for (int number : {2, 3}) static_cast<void>(PlayedWorker(daemon.address(), number));
    ASSERT_TRUE(eventually(30s, [&] { return lines_of(follow.out()).size() == 3; })) << follow.out();
    ASSERT_TRUE(eventually(20s, [&] { return people.err().find("the server is back") != std::string::npos; }));
    const auto stopped = daemon.stop();
    ASSERT_TRUE(eventually(20s, [&] { return people.err().find("ended the stream") != std::string::npos; }));

    const auto events = lines_of(follow.out());
    EXPECT_EQ(stopped, 0);
    EXPECT_TRUE(strictly_rising(numbers_of(events)));
    EXPECT_THAT(people.err(), HasSubstr("it is asked again until it is back"));
    people.signal(SIGINT);
    EXPECT_EQ(people.wait(10s).status, 0);
}

// A reader that is slower than the events holds the command up, and gets all of them.
TEST_F(EventsTest, wait_for_a_slow_reader) {
    Daemon daemon(controller_alone());
    constexpr int kMany = 600;  // more than a pipe holds
    for (int i = 1; i <= kMany; ++i) static_cast<void>(PlayedWorker(daemon.address(), i));
    const auto all = logged(daemon.address(), "limit=1000", kMany);
    auto start = cli({}, daemon.url());
    start.argv = {"sh", "-c", "\"$0\" events --follow --json | { sleep 1; head -n 600; }", program("sandbox")};

    const auto read = run_program(start, 60s);

    EXPECT_EQ(lines_of(read.out), all);
}

TEST_F(EventsTest, stream_as_server_sent_events) {
    Daemon daemon(controller_alone());
    for (int number : {1, 2}) static_cast<void>(PlayedWorker(daemon.address(), number));
    const auto first = logged(daemon.address(), "", 2).at(0);
    const auto stream = [&](const std::string& more) {
        return send_raw(daemon.address(), "GET /v1/events?follow=true HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n");
    };
    const auto id = "id: " + first["sequence"].dump() + "\ndata: {";

    const auto whole = stream("");
    const auto rest = stream("Last-Event-ID: " + first["sequence"].dump() + "\r\n");

    EXPECT_THAT(whole, HasSubstr("Content-Type: text/event-stream\r\n"));
    EXPECT_THAT(whole, HasSubstr("Cache-Control: no-store\r\n"));
    EXPECT_THAT(whole, HasSubstr(id));
    EXPECT_THAT(rest, Not(HasSubstr(id)));
    EXPECT_THAT(rest, HasSubstr("\ndata: {"));
}

TEST_F(EventsTest, are_asked_for_with_sense_and_a_token) {
    const std::string token(40, 'k');
    Daemon daemon(controller_alone(
        {{"SANDBOX__SERVER__API_TOKEN", token}, {"SANDBOX__SERVER__NODE_TOKEN", std::string(40, 'n')}}));
    const std::map<std::string, std::string> with_token{{"Authorization", "Bearer " + token}};

    EXPECT_EQ(call(daemon.address(), "GET", "/v1/events?follow=true").status, 401U);
    for (const auto* query : {"after=-1", "after=x", "after=9223372036854775808", "limit=0", "limit=1001", "follow=yes",
                              "follow=true&limit=5"}) {
        const auto reply = call(daemon.address(), "GET", std::string("/v1/events?") + query, "", with_token);
        EXPECT_EQ(reply.status, 400U) << query;
        EXPECT_EQ(reply.json()["code"], "invalid_request") << query;
        EXPECT_THAT(reply.json()["message"].get<std::string>(), HasSubstr("query parameter")) << query;
    }
    auto headers = with_token;
    headers["Last-Event-ID"] = "7x";
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/events", "", headers).status, 400U);
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/events?after=9223372036854775807", "", with_token).json(),
              (json{{"events", json::array()}, {"next", INT64_MAX}}));
}

// What waits for the bus is told where one looks whether the server is well.
TEST_F(EventsTest, that_wait_are_told_by_readyz_and_the_metrics) {
    Daemon daemon(controller_alone());
    EXPECT_EQ(successful(daemon.address(), "GET", "/healthz")["events"], nullptr);
    EXPECT_EQ(successful(daemon.address(), "GET", "/readyz")["events"],
              (json{{"unpublished", 0}, {"oldest_seconds", 0}}));
    const auto metrics = call(daemon.address(), "GET", "/metrics").body;
    EXPECT_THAT(metrics, HasSubstr("sandbox_outbox_events 0"));
    EXPECT_THAT(metrics, HasSubstr("sandbox_event_followers 0"));
}

TEST_F(EventsTest, of_a_server_that_is_not_there_are_an_error) {
    const auto ended = run_program(cli({"events", "--follow"}, "http://127.0.0.1:9"));
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("can't connect"));
}

}  // namespace
}  // namespace sandbox::test
