#include <chrono>
#include <support/nats_server.hpp>

#include <sandbox/events/nats_bus.hpp>

#include "bus_under_test.hpp"

namespace sandbox::events {
namespace {

class NatsUnderTest final : public BusUnderTest {
public:
    explicit NatsUnderTest(bool jetstream) : server_({.jetstream = jetstream, .configuration = ""}) {
        if (jetstream) test::create_nats_stream(server_.url(), "EVENTS", R"(["sandbox.events.>","sandbox.events"])");
        consumer_.emplace(server_.url(), "sandbox.events");
    }

    EventBus& bus() override { return *bus_; }
    Task<std::vector<nlohmann::json>> received(std::size_t count, Deadline deadline) override {
        const auto left = deadline - std::chrono::steady_clock::now();
        std::vector<nlohmann::json> events;
        for (const auto& message : consumer_->receive(count, std::chrono::ceil<std::chrono::milliseconds>(left)))
            events.push_back(nlohmann::json::parse(message.data));
        co_return events;
    }

private:
    test::NatsServer server_;
    std::optional<test::NatsConsumer> consumer_;
    std::unique_ptr<EventBus> bus_ = create_nats_bus(
        {.servers = Secret(server_.url()), .subject = "sandbox.events", .credentials_file = std::nullopt});
};

}  // namespace

std::unique_ptr<BusUnderTest> start_nats(asio::io_context&) {
    return std::make_unique<NatsUnderTest>(false);
}

std::unique_ptr<BusUnderTest> start_nats_with_jetstream(asio::io_context&) {
    return std::make_unique<NatsUnderTest>(true);
}

}  // namespace sandbox::events
