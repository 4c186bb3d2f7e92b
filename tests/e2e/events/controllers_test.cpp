// Two controllers on one PostgreSQL database and one NATS server.
#include <csignal>
#include <support/nats_server.hpp>
#include <support/postgres_server.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "played_worker.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;

class SeveralControllers : public ::testing::Test {
protected:
    SeveralControllers() { create_nats_stream(nats_.url(), "EVENTS", R"(["sandbox.events","sandbox.events.nodes"])"); }

    [[nodiscard]] Daemon::Options options() const {
        return controller_alone({{"SANDBOX__STORE__KIND", "postgres"},
                                 {"SANDBOX__STORE__DATABASE_URL", database.url()},
                                 {"SANDBOX__BUS__KIND", "nats"},
                                 {"SANDBOX__BUS__NATS_URL", nats_.url()}});
    }
    /// `sandbox events --follow` of a daemon, as a program reads it.
    [[nodiscard]] Start follow(const Daemon& daemon) const {
        return {.argv = {program("sandbox"), "events", "--follow", "--json"},
                .environment = {{"SANDBOX_URL", daemon.url()}, {"HOME", home_.path()}}};
    }
    static std::vector<json> logged(const Daemon& daemon) {
        return successful(daemon.address(), "GET", "/v1/events?limit=1000")["events"].get<std::vector<json>>();
    }
    static std::vector<json> lines_of(const std::string& text) {
        std::vector<json> lines;
        for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
            lines.push_back(json::parse(text.substr(at, end - at)));
        return lines;
    }
    [[nodiscard]] std::vector<json> stored() const {
        std::vector<json> ids;
        for (const auto& message : nats_stream_messages(nats_.url(), "EVENTS")) ids.emplace_back(message.id);
        return ids;
    }

    PostgresServer database;

private:
    NatsServer nats_{{.jetstream = true, .configuration = ""}};
    TemporaryDirectory home_;
};

std::vector<json> ids_of(const std::vector<json>& events) {
    std::vector<json> ids;
    for (const auto& event : events) ids.push_back(event["event_id"]);
    return ids;
}

// One of them publishes at a time, the other takes over when it is killed: every event has one number and is in the
// stream once, whoever was asked for what made it, and a follower of the one sees the other's.
TEST_F(SeveralControllers, publish_every_event_once_though_one_is_killed) {
    Daemon one(options());
    Daemon two(options());
    const PlayedWorker worker(one.address(), 1);
    const PlayedWorker other(two.address(), 2);
    Process follower(follow(two));

    for (int i = 0; i < 10; ++i) {
        static_cast<void>(worker.create("acme"));
        static_cast<void>(other.create("acme"));
    }
    one.process().signal(SIGKILL);
    for (int i = 0; i < 10; ++i) static_cast<void>(other.create("acme"));

    ASSERT_TRUE(eventually(30s, [&] { return logged(two).size() == 32; })) << logged(two).size();
    const auto log = logged(two);
    EXPECT_TRUE(eventually(20s, [&] { return lines_of(follower.out()) == log; })) << follower.out();
    EXPECT_EQ(stored(), ids_of(log));
}

// A stream outlives the database's absence, and what happened before and after it arrives.
TEST_F(SeveralControllers, keep_their_streams_over_a_restart_of_the_database) {
    Daemon daemon(options());
    const PlayedWorker worker(daemon.address());
    Process follower(follow(daemon));
    static_cast<void>(worker.create("acme"));
    ASSERT_TRUE(eventually(20s, [&] { return lines_of(follower.out()).size() == 2; }));

    database.stop();
    EXPECT_TRUE(eventually(20s, [&] { return call(daemon.address(), "GET", "/readyz").status == 503; }));
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/events?follow=true").status, 503U);
    database.start();
    ASSERT_TRUE(eventually(30s, [&] { return call(daemon.address(), "GET", "/readyz").status == 200; }));
    static_cast<void>(worker.create("acme"));

    EXPECT_TRUE(eventually(30s, [&] { return lines_of(follower.out()).size() == 3; })) << follower.out();
    EXPECT_EQ(lines_of(follower.out()), logged(daemon));
    follower.signal(SIGINT);
    EXPECT_EQ(follower.wait(10s).err, "");
}

}  // namespace
}  // namespace sandbox::test
