#include <chrono>
#include <support/run_task.hpp>

#include "bus_under_test.hpp"

namespace sandbox::events {

domain::Event an_event(std::uint8_t sandbox, std::uint8_t n) {
    domain::Event event;
    event.event_id.uuid.bytes[0] = sandbox;
    event.event_id.uuid.bytes[15] = n;
    event.event_type = "sandbox.operation_succeeded";
    event.tenant = "acme \"quoted\" caf\xC3\xA9";
    event.sandbox_id.uuid.bytes[0] = sandbox;
    event.node_id.uuid.bytes[0] = 9;
    event.timestamp = Timestamp(std::chrono::seconds(n));
    event.attributes = {{"state", "running"}, {"isolation", "container"}};
    return event;
}

namespace {

using namespace std::chrono_literals;

/// Publishes, and gives what the consumer had after `count` events.
struct Exchange {
    Result<void> accepted;
    std::vector<nlohmann::json> received;
};

Task<Exchange> publish(BusUnderTest& under_test, const std::vector<std::vector<domain::Event>>& batches) {
    Exchange exchange;
    std::size_t count = 0;
    for (const auto& batch : batches) {
        exchange.accepted = co_await under_test.bus().publish(batch, in(30s));
        count += batch.size();
    }
    exchange.received = co_await under_test.received(count, in(30s));
    co_return exchange;
}

std::vector<nlohmann::json> json_of(const std::vector<domain::Event>& events) {
    return {events.begin(), events.end()};
}

Exchange exchange(const std::vector<std::vector<domain::Event>>& batches) {
    asio::io_context io(1);
    const auto under_test = EventBusContract::GetParam().start(io);
    return test::run(io, publish(*under_test, batches));
}

// Every field as it was published, whatever the text in it.
TEST_P(EventBusContract, carries_an_event_whole) {
    const auto result = exchange({{an_event(1, 1)}});

    EXPECT_TRUE(result.accepted) << result.accepted.error().message();
    EXPECT_EQ(result.received, json_of({an_event(1, 1)}));
}

TEST_P(EventBusContract, keeps_the_order_within_and_across_calls) {
    const auto result = exchange({{an_event(1, 1), an_event(2, 1), an_event(1, 2)}, {an_event(2, 2), an_event(1, 3)}});

    EXPECT_EQ(result.received,
              json_of({an_event(1, 1), an_event(2, 1), an_event(1, 2), an_event(2, 2), an_event(1, 3)}));
}

// A publisher that got an error sends all of them again; consumers know an event by its id.
TEST_P(EventBusContract, carries_an_event_again_when_it_is_published_again) {
    const auto result = exchange({{an_event(1, 1)}, {an_event(1, 1), an_event(1, 2)}});

    EXPECT_EQ(result.received, json_of({an_event(1, 1), an_event(1, 1), an_event(1, 2)}));
}

TEST_P(EventBusContract, accepts_nothing_at_all) {
    const auto result = exchange({{}});

    EXPECT_TRUE(result.accepted);
    EXPECT_TRUE(result.received.empty());
}

TEST_P(EventBusContract, carries_a_full_batch) {
    std::vector<domain::Event> many;
    for (int i = 0; i < 5000; ++i)
        many.push_back(an_event(static_cast<std::uint8_t>(i % 7), static_cast<std::uint8_t>(i)));

    EXPECT_EQ(exchange({many}).received, json_of(many));
}

std::string name_of(const testing::TestParamInfo<Implementation>& info) {
    return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Memory, EventBusContract, testing::Values(Implementation{"memory", start_memory_bus}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Nats, EventBusContract,
                         testing::Values(Implementation{"nats", start_nats},
                                         Implementation{"jetstream", start_nats_with_jetstream}),
                         name_of);

}  // namespace
}  // namespace sandbox::events
