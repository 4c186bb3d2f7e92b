// A real daemon and a real NATS server that comes and goes.
#include <csignal>
#include <support/nats_server.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "played_worker.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class NatsEvents : public ::testing::Test {
protected:
    NatsEvents() { create_nats_stream(nats.url(), "EVENTS", R"(["sandbox.events","sandbox.events.nodes"])"); }

    [[nodiscard]] Daemon::Options options() const {
        return controller_alone({{"SANDBOX__BUS__KIND", "nats"}, {"SANDBOX__BUS__NATS_URL", nats.url()}});
    }
    /// The events of the log, and the same without their numbers, as the bus has them.
    static std::vector<json> logged(const Daemon& daemon) {
        auto events = successful(daemon.address(), "GET", "/v1/events?limit=1000")["events"].get<std::vector<json>>();
        for (auto& event : events) event.erase("sequence");
        return events;
    }
    [[nodiscard]] std::vector<json> stored() const {
        std::vector<json> events;
        for (const auto& message : nats_stream_messages(nats.url(), "EVENTS"))
            events.push_back(json::parse(message.data));
        return events;
    }
    static json waiting(const Daemon& daemon) { return successful(daemon.address(), "GET", "/readyz")["events"]; }

    NatsServer nats{{.jetstream = true, .configuration = ""}};
};

// NATS away for some seconds: the daemon works on, says what waits, and no event is lost or doubled.
TEST_F(NatsEvents, are_late_and_not_lost_when_the_server_is_away) {
    Daemon daemon(options());
    const PlayedWorker worker(daemon.address());
    const auto first = worker.create("acme");
    worker.work();
    ASSERT_TRUE(eventually(20s, [&] { return logged(daemon).size() == 3; }));

    nats.stop();
    successful(daemon.address(), "DELETE", "/v1/sandboxes/" + first);
    worker.work();
    for (int i = 0; i < 5; ++i) static_cast<void>(worker.create("acme"));
    EXPECT_TRUE(eventually(20s, [&] { return waiting(daemon)["unpublished"] == 7; })) << waiting(daemon);
    EXPECT_TRUE(eventually(20s, [&] { return waiting(daemon)["oldest_seconds"] >= 2; })) << waiting(daemon);
    EXPECT_EQ(logged(daemon).size(), 3U);
    EXPECT_THAT(call(daemon.address(), "GET", "/metrics").body, HasSubstr("sandbox_outbox_events 7"));

    nats.start();
    ASSERT_TRUE(eventually(30s, [&] { return logged(daemon).size() == 10; }));
    EXPECT_EQ(stored(), logged(daemon));
    EXPECT_TRUE(eventually(20s, [&] { return waiting(daemon)["unpublished"] == 0; }));
}

TEST_F(NatsEvents, do_not_keep_the_daemon_from_starting) {
    nats.stop();
    Daemon daemon(options());
    static_cast<void>(PlayedWorker(daemon.address()));
    ASSERT_TRUE(eventually(20s, [&] { return daemon.process().err().find("events wait") != std::string::npos; }));

    nats.start();
    EXPECT_TRUE(eventually(30s, [&] { return logged(daemon).size() == 1; }));
    EXPECT_EQ(stored(), logged(daemon));
}

// What happened a moment before the end still goes out.
TEST_F(NatsEvents, leave_before_the_daemon_does) {
    Daemon daemon(options());
    const PlayedWorker worker(daemon.address());
    for (int i = 0; i < 20; ++i) static_cast<void>(worker.create("acme"));

    EXPECT_EQ(daemon.stop(), 0);

    EXPECT_EQ(stored().size(), 21U);
}

// A server that hangs does not keep the daemon from ending.
TEST_F(NatsEvents, do_not_hold_up_the_end) {
    Daemon daemon(options());
    static_cast<void>(PlayedWorker(daemon.address(), 1));
    ASSERT_TRUE(eventually(20s, [&] { return logged(daemon).size() == 1; }));
    nats.freeze();
    static_cast<void>(PlayedWorker(daemon.address(), 2));

    EXPECT_EQ(daemon.stop(), 0);

    nats.thaw();
}

TEST_F(NatsEvents, show_no_password_when_they_can_not_leave) {
    auto with_password = options();
    with_password.variables["SANDBOX__BUS__NATS_URL"] = "nats://me:hunter2@127.0.0.1:9";
    Daemon daemon(with_password);
    static_cast<void>(PlayedWorker(daemon.address()));
    ASSERT_TRUE(eventually(20s, [&] { return daemon.process().err().find("events wait") != std::string::npos; }));

    EXPECT_EQ(daemon.stop(), 0);
    EXPECT_THAT(daemon.process().err(), HasSubstr("NATS at 127.0.0.1:9"));
    EXPECT_THAT(daemon.process().err(), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace sandbox::test
