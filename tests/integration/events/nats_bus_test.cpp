#include <cstdlib>
#include <fstream>
#include <iterator>

#include "certificates.hpp"
#include "nats_fixture.hpp"

namespace sandbox::events {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string message_of(const Result<void>& result) {
    return result ? "it was accepted" : result.error().message();
}

// A consumer of sandboxes' events is not bothered with nodes', and knows a repeated event by the message's id.
TEST(NatsBus, has_a_subject_for_sandboxes_and_one_for_nodes) {
    test::NatsServer server;
    test::NatsConsumer consumer(server.url(), "sandbox.>");
    const auto bus = bus_of(server.url());

    ASSERT_TRUE(publish(*bus, {an_event(1), an_event(2, true)}));

    const auto messages = consumer.receive(2, 10s);
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].subject, "sandbox.events");
    EXPECT_EQ(messages[0].id, an_event(1).event_id.text());
    EXPECT_EQ(nlohmann::json::parse(messages[0].data), nlohmann::json(an_event(1)));
    EXPECT_EQ(messages[1].subject, "sandbox.events.nodes");
    EXPECT_EQ(nlohmann::json::parse(messages[1].data)["tenant"], nullptr);
}

// What is published again after an error is in the stream once.
TEST(NatsBus, leaves_repeated_events_to_the_streams_duplicate_window) {
    test::NatsServer server({.jetstream = true, .configuration = ""});
    test::create_nats_stream(server.url(), "EVENTS", kSubjects);
    const auto bus = bus_of(server.url());

    ASSERT_TRUE(publish(*bus, {an_event(1), an_event(2)}));
    ASSERT_TRUE(publish(*bus, {an_event(1), an_event(2), an_event(3, true)}));

    EXPECT_EQ(ids_of(test::nats_stream_messages(server.url(), "EVENTS")),
              ids_of({an_event(1), an_event(2), an_event(3, true)}));
}

// Accepted means stored, where there is a stream: one that takes no more delays the events, and keeps their order.
TEST(NatsBus, is_refused_by_a_stream_that_is_full) {
    test::NatsServer server({.jetstream = true, .configuration = ""});
    test::create_nats_stream(server.url(), "EVENTS", kSubjects, R"(,"max_msgs":2,"discard":"new")");
    const auto bus = bus_of(server.url());

    const auto refused = publish(*bus, {an_event(1), an_event(2), an_event(3)});
    EXPECT_THAT(message_of(refused), HasSubstr("JetStream: error 10077"));
    EXPECT_EQ(refused.error().code(), Code::unavailable);
    EXPECT_EQ(ids_of(test::nats_stream_messages(server.url(), "EVENTS")), ids_of({an_event(1), an_event(2)}));
}

TEST(NatsBus, does_without_streams_where_none_captures_the_events) {
    test::NatsServer server({.jetstream = true, .configuration = ""});
    test::create_nats_stream(server.url(), "NODES", R"(["sandbox.events.nodes"])");
    test::NatsConsumer consumer(server.url(), "sandbox.events");
    const auto bus = bus_of(server.url());

    ASSERT_TRUE(publish(*bus, {an_event(1), an_event(2, true), an_event(3)}));

    EXPECT_EQ(ids_of(consumer.receive(2, 10s)), ids_of({an_event(1), an_event(3)}));
    EXPECT_EQ(ids_of(test::nats_stream_messages(server.url(), "NODES")), ids_of({an_event(2, true)}));
}

// Who listens to every subject gets the question for streams too, and does not answer it.
TEST(NatsBus, publishes_in_the_end_though_nobody_answers_for_streams) {
    test::NatsServer server;
    test::NatsConsumer consumer(server.url(), ">");
    const auto bus = bus_of(server.url());

    int attempts = 1;
    while (attempts < 5 && !publish(*bus, {an_event(1)})) ++attempts;
    EXPECT_EQ(attempts, 3);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(publish(*bus, {an_event(2)}));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);

    auto messages = consumer.receive(5, 10s);
    std::erase_if(messages, [](const auto& message) { return !message.subject.starts_with("sandbox."); });
    EXPECT_EQ(ids_of(messages), ids_of({an_event(1), an_event(2)}));
}

TEST(NatsBus, says_at_once_that_nobody_is_there_and_by_the_hosts_alone) {
    test::NatsServer server;
    server.stop();
    const auto bus = bus_of("nats://me:hunter2@" + server.address());

    const auto begun = std::chrono::steady_clock::now();
    const auto away = publish(*bus, {an_event(1)});

    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
    ASSERT_FALSE(away);
    EXPECT_EQ(away.error().code(), Code::unavailable);
    EXPECT_THAT(away.error().message(), HasSubstr("NATS at " + server.address()));
    EXPECT_THAT(away.error().message(), Not(HasSubstr("hunter2")));
}

// A server that has hung up, or hangs, costs its deadline; then it is connected to anew.
TEST(NatsBus, gives_up_on_a_frozen_server_at_the_deadline) {
    test::NatsServer server;
    const auto bus = bus_of(server.url());
    ASSERT_TRUE(publish(*bus, {an_event(1)}));
    test::NatsConsumer consumer(server.url(), "sandbox.events");

    server.freeze();
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_FALSE(publish(*bus, {an_event(2)}, in(1s)));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
    server.thaw();
    ASSERT_TRUE(publish(*bus, {an_event(2)}));

    EXPECT_EQ(once(ids_of(consumer.receive(1, 10s))), ids_of({an_event(2)}));
}

TEST(NatsBus, takes_the_next_server_when_one_is_away) {
    test::NatsServer away;
    test::NatsServer there;
    away.stop();
    const auto bus = bus_of(away.url() + ", " + there.url());

    EXPECT_TRUE(publish(*bus, {an_event(1)}));
}

TEST(NatsBus, brings_user_and_password) {
    test::NatsServer server({.jetstream = false, .configuration = "authorization { user: me, password: hunter2 }"});
    const auto with = [&](const std::string& user) { return bus_of("nats://" + user + server.address()); };

    EXPECT_TRUE(publish(*with("me:hunter2@"), {an_event(1)}));
    for (const auto* wrong : {"me:hunter3@", ""}) {
        const auto refused = publish(*with(wrong), {an_event(1)});
        EXPECT_THAT(message_of(refused), HasSubstr("uthenti")) << wrong;
        EXPECT_THAT(message_of(refused), Not(HasSubstr("hunter"))) << wrong;
    }
}

TEST(NatsBus, brings_the_credentials_of_a_file) {
    const std::string folder = SANDBOX_SOURCE_DIR "/tests/fixtures/nats";
    std::ifstream file(folder + "/operator.conf");
    test::NatsServer server(
        {.jetstream = false, .configuration = std::string(std::istreambuf_iterator<char>(file), {})});

    EXPECT_TRUE(publish(*bus_of(server.url(), folder + "/user.creds"), {an_event(1)}));
    EXPECT_FALSE(publish(*bus_of(server.url()), {an_event(1)}));
    EXPECT_FALSE(publish(*bus_of(server.url(), folder + "/none.creds"), {an_event(1)}));
}

/// One user with these permissions.
std::string permissions(const std::string& text) {
    return "authorization { users: [ { user: me, password: hunter2, permissions: { " + text + " } } ] }";
}

// A server drops what is not permitted and goes on as if nothing were.
TEST(NatsBus, notices_that_it_may_not_publish) {
    test::NatsServer server({.jetstream = true, .configuration = permissions("publish: { deny: \"sandbox.>\" }")});
    const auto bus = bus_of("nats://me:hunter2@" + server.address());

    for (int i = 0; i < 2; ++i)
        EXPECT_THAT(message_of(publish(*bus, {an_event(1)})), HasSubstr("may not publish to sandbox.events"));
}

TEST(NatsBus, publishes_though_it_may_not_ask_for_streams) {
    test::NatsServer server({.jetstream = true, .configuration = permissions("publish: \"sandbox.>\"")});
    const auto bus = bus_of("nats://me:hunter2@" + server.address());

    EXPECT_THAT(message_of(publish(*bus, {an_event(1), an_event(2, true)})), "it was accepted");
    EXPECT_THAT(message_of(publish(*bus, {an_event(3)})), "it was accepted");
}

// An event that the server would refuse for its size would hold up all that come after it.
TEST(NatsBus, cuts_what_is_too_large_for_the_server) {
    test::NatsServer server({.jetstream = false, .configuration = "max_payload: 2048"});
    test::NatsConsumer consumer(server.url(), "sandbox.events");
    auto event = an_event(1);
    event.attributes["error"] = std::string(5000, 'x');

    EXPECT_THAT(message_of(publish(*bus_of(server.url()), {event})), "it was accepted");

    const auto messages = consumer.receive(1, 10s);
    ASSERT_EQ(messages.size(), 1U);
    const auto attributes = nlohmann::json::parse(messages[0].data)["attributes"];
    EXPECT_EQ(attributes["state"], "failed");
    EXPECT_THAT(attributes["error"].get<std::string>(), testing::StartsWith("xxxx"));
}

// tls:// means a certificate of an authority that this machine trusts, and of that host.
TEST(NatsBus, speaks_tls_with_whom_it_can_trust) {
    http::Certificates certificates;
    certificates.make("localhost", "DNS:localhost");
    const auto file = [&](const char* end) { return certificates.path(std::string("localhost") + end); };
    test::NatsServer server(
        {.jetstream = false,
         .configuration = "tls { cert_file: \"" + file(".crt") + "\", key_file: \"" + file(".key") + "\" }"});
    const auto port = server.address().substr(server.address().rfind(':'));

    for (const auto* scheme : {"tls://", "nats://"})
        EXPECT_FALSE(publish(*bus_of(scheme + ("localhost" + port)), {an_event(1)})) << scheme;
    ::setenv("SSL_CERT_FILE", file(".crt").c_str(), 1);
    EXPECT_THAT(message_of(publish(*bus_of("tls://localhost" + port), {an_event(1)})), "it was accepted");
    EXPECT_FALSE(publish(*bus_of("tls://127.0.0.1" + port), {an_event(1)}));  // not the name in the certificate
    ::unsetenv("SSL_CERT_FILE");

    test::NatsServer plain;
    EXPECT_FALSE(publish(*bus_of("tls://" + plain.address()), {an_event(1)}));
}

}  // namespace
}  // namespace sandbox::events
