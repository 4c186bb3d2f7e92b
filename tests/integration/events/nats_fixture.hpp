#pragma once

#include <set>
#include <string>
#include <support/nats_server.hpp>
#include <support/run_task.hpp>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/events/nats_bus.hpp>

namespace sandbox::events {

using namespace std::chrono_literals;

inline constexpr auto kSubjects = R"(["sandbox.events","sandbox.events.nodes"])";

/// The nth event, of a sandbox or a node.
inline domain::Event an_event(unsigned n, bool of_node = false) {
    domain::Event event;
    event.event_id.uuid.bytes[14] = static_cast<std::uint8_t>(n >> 8);
    event.event_id.uuid.bytes[15] = static_cast<std::uint8_t>(n);
    event.event_type = of_node ? "node.stale" : "sandbox.lost";
    event.tenant = of_node ? "" : "acme";
    event.attributes = {{"state", "failed"}};
    return event;
}

inline std::unique_ptr<EventBus> bus_of(std::string servers, std::optional<std::string> credentials = {}) {
    return create_nats_bus({.servers = Secret(std::move(servers)),
                            .subject = "sandbox.events",
                            .credentials_file = std::move(credentials)});
}

inline Result<void> publish(EventBus& bus, const std::vector<domain::Event>& events, Deadline deadline = in(30s)) {
    return test::run(bus.publish(events, deadline));
}

inline std::vector<std::string> ids_of(const std::vector<test::NatsReceived>& messages) {
    std::vector<std::string> ids;
    for (const auto& message : messages) ids.push_back(message.id);
    return ids;
}

inline std::vector<std::string> ids_of(const std::vector<domain::Event>& events) {
    std::vector<std::string> ids;
    for (const auto& event : events) ids.push_back(event.event_id.text());
    return ids;
}

/// Each once, as a consumer that knows the ids sees them.
inline std::vector<std::string> once(const std::vector<std::string>& ids) {
    std::set<std::string> seen;
    std::vector<std::string> first;
    for (const auto& id : ids)
        if (seen.insert(id).second) first.push_back(id);
    return first;
}

}  // namespace sandbox::events
