// A NATS server that comes and goes under a publisher: events are late, none is lost, and each sandbox's keep their
// order.
#include <controller/publisher.hpp>

#include <sandbox/async/task_group.hpp>
#include <sandbox/store/memory_store.hpp>

#include "nats_fixture.hpp"

namespace sandbox::sandboxd {
namespace {

using namespace std::chrono_literals;

class Outage : public testing::Test {
protected:
    Outage() {
        test::create_nats_stream(server.url(), "EVENTS", events::kSubjects);
        tasks.spawn("publish", publisher.run());
    }
    ~Outage() override {
        tasks.cancel();
        auto join = [](async::TaskGroup& group) -> Task<void> { co_await group.join(in(30s)); };
        test::run(io, join(tasks));
    }

    void make_event() {
        domain::Node node;
        node.id.uuid.bytes[0] = 1;
        node.name = "n";
        node.incarnation = domain::Incarnation{};
        ASSERT_TRUE(test::run(io, store->register_node(node, in(5s))));
        ++made;
    }
    /// Events, one every few milliseconds, while the publisher works.
    void make_events(int count) {
        for (int i = 0; i < count; ++i) {
            make_event();
            io.restart();
            io.run_for(5ms);
        }
    }
    /// The log's ids once everything is published.
    std::vector<std::string> published() {
        io.restart();
        std::vector<std::string> ids;
        for (const auto until = in(60s); ids.size() < made && std::chrono::steady_clock::now() < until;) {
            io.run_for(20ms);
            ids.clear();
            const auto page = test::run(io, store->events({}, in({})));
            for (const auto& logged : page->events) ids.push_back(logged.event.event_id.text());
        }
        return ids;
    }
    /// Once, and in the log's order.
    void expect_all_stored() {
        const auto log = published();
        EXPECT_EQ(log.size(), made);
        EXPECT_EQ(events::ids_of(test::nats_stream_messages(server.url(), "EVENTS")), log);
    }

    test::NatsServer server{{.jetstream = true, .configuration = ""}};
    asio::io_context io{1};
    async::TaskGroup tasks{io.get_executor()};
    async::SystemClock clock;
    SystemRandom random;
    std::unique_ptr<store::Store> store = store::create_memory_store({}, clock, random);
    std::unique_ptr<events::EventBus> bus = events::bus_of(server.url());
    Metrics metrics;
    Publisher publisher{*store, *bus, metrics};
    std::size_t made = 0;
};

TEST_F(Outage, of_a_server_that_is_stopped_and_started_loses_nothing) {
    for (int round = 0; round < 2; ++round) {
        make_events(30);
        server.stop();
        make_events(30);
        server.start();
    }
    make_events(10);

    expect_all_stored();
}

TEST_F(Outage, of_a_server_that_is_killed_loses_nothing) {
    make_events(50);
    server.kill();
    make_events(20);
    server.start();

    expect_all_stored();
}

// It takes events and acknowledges none: they are sent again, and are there once.
TEST_F(Outage, of_a_server_that_hangs_doubles_nothing) {
    make_events(20);
    server.freeze();
    make_events(20);
    io.run_for(500ms);
    server.thaw();

    expect_all_stored();
}

TEST_F(Outage, that_is_there_from_the_start_only_delays) {
    server.stop();
    make_events(10);
    EXPECT_EQ(test::run(io, store->statistics(in(5s)))->outbox, made);

    server.start();
    expect_all_stored();
}

}  // namespace
}  // namespace sandbox::sandboxd
