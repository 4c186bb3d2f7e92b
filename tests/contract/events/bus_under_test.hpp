#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/events/event_bus.hpp>

namespace sandbox::events {

/// A real bus and a consumer of its own that listens from the beginning, as a program outside would.
class BusUnderTest {
public:
    virtual ~BusUnderTest() = default;
    virtual EventBus& bus() = 0;
    /// What the consumer has got, as JSON, oldest first: waits for `count` of them, at most until the deadline.
    virtual Task<std::vector<nlohmann::json>> received(std::size_t count, Deadline deadline) = 0;
};

/// Each implementation brings one of these to the suite: INSTANTIATE_TEST_SUITE_P(Nats, EventBusContract, …).
struct Implementation {
    std::string name;
    std::function<std::unique_ptr<BusUnderTest>(asio::io_context&)> start;
};
inline void PrintTo(const Implementation& implementation, std::ostream* out) {
    *out << implementation.name;
}

class EventBusContract : public testing::TestWithParam<Implementation> {};

/// A bus in this process.
[[nodiscard]] std::unique_ptr<BusUnderTest> start_memory_bus(asio::io_context& io);
/// A bus of a real server, whose consumer is another connection to it; with a stream that captures the events, too.
[[nodiscard]] std::unique_ptr<BusUnderTest> start_nats(asio::io_context& io);
[[nodiscard]] std::unique_ptr<BusUnderTest> start_nats_with_jetstream(asio::io_context& io);

/// The nth event of a sandbox.
[[nodiscard]] domain::Event an_event(std::uint8_t sandbox, std::uint8_t n);

}  // namespace sandbox::events
