#include <chrono>
#include <support/run_task.hpp>

#include "bus_under_test.hpp"

namespace sandbox::events {

namespace {

using namespace std::chrono_literals;

class MemoryBusUnderTest final : public BusUnderTest {
public:
    EventBus& bus() override { return *bus_; }
    Task<std::vector<nlohmann::json>> received(std::size_t, Deadline) override { co_return received_; }

private:
    std::unique_ptr<MemoryBus> bus_ = create_memory_bus();
    std::vector<nlohmann::json> received_;
    std::shared_ptr<void> subscription_ =
        bus_->subscribe([this](const domain::Event& event) { received_.emplace_back(event); });
};

void publish(EventBus& bus, const domain::Event& event) {
    ASSERT_TRUE(test::run(bus.publish({&event, 1}, in(5s))));
}

}  // namespace

std::unique_ptr<BusUnderTest> start_memory_bus(asio::io_context&) {
    return std::make_unique<MemoryBusUnderTest>();
}

namespace {

TEST(MemoryBus, calls_every_subscriber_until_its_token_is_dropped) {
    const auto bus = create_memory_bus();
    int first = 0;
    int second = 0;
    auto first_token = bus->subscribe([&](const domain::Event&) { ++first; });
    const auto second_token = bus->subscribe([&](const domain::Event&) { ++second; });

    publish(*bus, an_event(1, 1));
    first_token.reset();
    publish(*bus, an_event(1, 2));

    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 2);
}

TEST(MemoryBus, lets_a_subscriber_end_its_own_and_others_subscriptions) {
    const auto bus = create_memory_bus();
    int first = 0;
    int second = 0;
    std::shared_ptr<void> first_token;
    std::shared_ptr<void> second_token;
    first_token = bus->subscribe([&](const domain::Event&) {
        ++first;
        first_token.reset();
        second_token.reset();
    });
    second_token = bus->subscribe([&](const domain::Event&) { ++second; });

    publish(*bus, an_event(1, 1));
    publish(*bus, an_event(1, 2));

    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 0);
}

TEST(MemoryBus, gives_a_new_subscriber_only_what_comes_after) {
    const auto bus = create_memory_bus();
    std::vector<domain::EventId> got;
    std::shared_ptr<void> late;
    const auto token = bus->subscribe([&](const domain::Event&) {
        if (!late) late = bus->subscribe([&](const domain::Event& event) { got.push_back(event.event_id); });
    });

    publish(*bus, an_event(1, 1));
    publish(*bus, an_event(1, 2));

    EXPECT_EQ(got, std::vector<domain::EventId>{an_event(1, 2).event_id});
}

TEST(MemoryBus, may_go_before_its_tokens) {
    auto bus = create_memory_bus();
    const auto token = bus->subscribe([](const domain::Event&) {});
    bus.reset();
    EXPECT_TRUE(token);
}

TEST(MemoryBus, says_its_kind) {
    EXPECT_EQ(create_memory_bus()->kind(), "memory");
}

}  // namespace
}  // namespace sandbox::events
