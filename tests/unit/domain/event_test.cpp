#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/domain/event.hpp>

namespace sandbox::domain {
namespace {

Event an_event() {
    Event event;
    event.event_id.uuid.bytes[0] = 1;
    event.event_type = "sandbox.lost";
    event.tenant = "acme";
    event.sandbox_id.uuid.bytes[0] = 2;
    event.node_id.uuid.bytes[0] = 3;
    event.timestamp = Timestamp(std::chrono::seconds(5));
    event.attributes = {{"state", "failed"}, {"reason", "node lost"}};
    return event;
}

Event over_the_wire(const Event& event) {
    Problems problems;
    auto read = read_event(nlohmann::json(event), "event", problems);
    EXPECT_TRUE(problems.empty()) << problems.to_error().message();
    return read;
}

TEST(Event, arrives_as_it_was_sent) {
    const auto sent = an_event();

    EXPECT_EQ(nlohmann::json(over_the_wire(sent)), nlohmann::json(sent));
    EXPECT_EQ(nlohmann::json(sent)["sandbox_id"], "02000000-0000-0000-0000-000000000000");
}

// A node has no tenant and no sandbox, and nobody should take the nil id for one.
TEST(Event, of_a_node_has_no_tenant_and_no_sandbox) {
    auto event = an_event();
    event.event_type = "node.stale";
    event.tenant = "";
    event.sandbox_id = {};

    const nlohmann::json json = event;

    EXPECT_TRUE(json["tenant"].is_null());
    EXPECT_TRUE(json["sandbox_id"].is_null());
    EXPECT_EQ(json["node_id"], "03000000-0000-0000-0000-000000000000");
    EXPECT_EQ(over_the_wire(event).sandbox_id, SandboxId{});
}

TEST(Event, that_is_none_is_refused_with_every_problem) {
    Problems problems;
    static_cast<void>(read_event({{"event_id", 5}, {"attributes", {{"state", 1}}}}, "events[0]", problems));
    EXPECT_EQ(problems.items().size(), 5U) << problems.to_error().message();
}

}  // namespace
}  // namespace sandbox::domain
