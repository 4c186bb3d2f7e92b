#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>
#include <sandbox/base/json_reader.hpp>

namespace sandbox::api {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

constexpr Timestamp kNow{1'796'000'645'123'456us};

template <class I>
I id(int last) {
    return *I::parse("019f0000-0000-7000-8000-00000000000" + std::to_string(last));
}

domain::Sandbox sandbox() {
    domain::Sandbox value;
    value.id = id<domain::SandboxId>(1);
    value.spec = {.tenant = "acme", .image = "busybox:1"};
    value.state = domain::SandboxState::running;
    value.node_id = id<domain::NodeId>(2);
    value.created_at = value.updated_at = kNow;
    value.expires_at = kNow + 1h;
    value.startup = domain::Startup{.running = true, .exit_code = std::nullopt, .tail = "up\n"};
    return value;
}

domain::Operation operation() {
    domain::Operation value;
    value.id = id<domain::OperationId>(3);
    value.sandbox_id = id<domain::SandboxId>(1);
    value.kind = domain::OperationKind::exec;
    value.state = domain::OperationState::succeeded;
    value.output = domain::Output{.stdout_text = std::string("a\0b", 3), .stderr_text = "", .stdout_bytes = 3};
    value.created_at = value.updated_at = kNow;
    value.argv = {"printf", "x"};
    return value;
}

LoggedEvent event(std::uint64_t sequence) {
    LoggedEvent value;
    value.sequence = sequence;
    value.event.event_type = "sandbox.scheduled";
    value.event.tenant = "acme";
    value.event.sandbox_id = id<domain::SandboxId>(1);
    value.event.timestamp = kNow;
    value.event.attributes = {{"state", "scheduled"}};
    return value;
}

domain::Assignment assignment() {
    domain::Assignment value;
    value.id = id<domain::AssignmentId>(4);
    value.operation_id = id<domain::OperationId>(3);
    value.sandbox_id = id<domain::SandboxId>(1);
    value.node_id = id<domain::NodeId>(2);
    value.kind = domain::CreateWork{sandbox().spec, domain::Tier::container, {}};
    value.state = domain::AssignmentState::leased;
    value.attempt = 2;
    value.lease_until = value.created_at = kNow;
    return value;
}

/// What a value is after it went over the wire and back.
template <class T>
json there_and_back(const T& value, Result<T> (*read)(std::string_view)) {
    auto result = read(dump_json(value));
    return result ? json(*result) : json(result.error().message());
}

TEST(Answers, survive_the_way_from_server_to_client) {
    SandboxAndOperation both{sandbox(), operation()};
    SandboxList sandboxes{{sandbox(), sandbox()}, "next"};
    OperationList operations{{operation()}, std::nullopt};
    RegisterAnswer registered{id<domain::NodeId>(2), 10, 1048576};
    HeartbeatAnswer heartbeat{{id<domain::SandboxId>(1)}, {id<domain::OperationId>(3)}};
    LeaseAnswer lease{{assignment()}, {id<domain::OperationId>(3)}};
    Health health;
    health.now = kNow;
    Health ready = health;
    ready.events = EventLag{.unpublished = 3, .oldest_seconds = 60};
    EventList events{{event(7), event(9)}, 12};

    EXPECT_EQ(there_and_back(both, read_sandbox_and_operation), json(both));
    EXPECT_EQ(there_and_back(sandbox(), read_sandbox_answer), json(sandbox()));
    EXPECT_EQ(there_and_back(sandboxes, read_sandbox_list), json(sandboxes));
    EXPECT_EQ(there_and_back(operations, read_operation_list), json(operations));
    EXPECT_EQ(there_and_back(registered, read_register_answer), json(registered));
    EXPECT_EQ(there_and_back(heartbeat, read_heartbeat_answer), json(heartbeat));
    EXPECT_EQ(there_and_back(lease, read_lease_answer), json(lease));
    EXPECT_EQ(there_and_back(health, read_health), json(health));
    EXPECT_EQ(there_and_back(ready, read_health), json(ready));
    EXPECT_EQ(there_and_back(events, read_event_list), json(events));
    EXPECT_EQ(there_and_back(event(7), read_logged_event), json(event(7)));
}

TEST(Answers, wrap_an_operation) {
    auto read = read_operation_answer(dump_json({{"operation", operation()}}));

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(json(*read), json(operation()));
}

// An absent optional value is null on the wire, never left out.
TEST(Answers, write_null_for_what_is_absent) {
    EXPECT_EQ(json(SandboxList{}), (json{{"sandboxes", json::array()}, {"next_cursor", nullptr}}));
    EXPECT_EQ(json(RegisterAnswer{})["max_output_bytes"], nullptr);
    EXPECT_EQ(json(Health{})["tunnels"]["base_domain"], nullptr);
    EXPECT_EQ(json(HeartbeatAnswer{}), (json{{"ok", true}, {"remove", json::array()}, {"cancel", json::array()}}));
}

// An older controller leaves out what it lacks; a newer one sends what we do not know.
TEST(Answers, of_other_versions_are_understood) {
    EXPECT_TRUE(read_heartbeat_answer(R"({"ok": true})").value().remove.empty());
    EXPECT_TRUE(read_lease_answer(R"({"assignments": []})").value().cancel.empty());
    EXPECT_EQ(read_sandbox_list(R"({"sandboxes": []})").value().next_cursor, std::nullopt);
    EXPECT_EQ(read_register_answer(R"({"node_id": "019f0000-0000-7000-8000-000000000002",
                                       "heartbeat_interval_seconds": 5, "colour": "red"})")
                  .value()
                  .max_output_bytes,
              std::nullopt);
    EXPECT_EQ(read_health(R"({"status": "ok"})").value().status, "ok");

    auto old = read_operation_answer(R"({"operation": {"id": "019f0000-0000-7000-8000-000000000002",
        "sandbox_id": "019f0000-0000-7000-8000-000000000002", "state": "running", "output": null, "error": null,
        "created_at": "2026-11-30T03:04:05Z", "updated_at": "2026-11-30T03:04:05.5+01:00"}})");
    ASSERT_TRUE(old) << old.error().message();
    EXPECT_EQ(old->state, domain::OperationState::running);
}

// What is no answer of this API at all (a proxy's page, another service) is an error, not an empty list.
TEST(Answers, that_are_none_are_refused) {
    EXPECT_FALSE(read_sandbox_list("{}"));
    EXPECT_FALSE(read_operation_list("{}"));
    EXPECT_FALSE(read_node_list("{}"));
    EXPECT_FALSE(read_lease_answer("{}"));
    EXPECT_FALSE(read_event_list("{}"));
    EXPECT_FALSE(read_event_list(R"({"events": [5], "next": 1})"));
    EXPECT_FALSE(read_logged_event("[]"));
    EXPECT_FALSE(read_health("{}"));
    EXPECT_FALSE(read_sandbox_answer("<html>"));
    EXPECT_THAT(read_sandbox_and_operation("{}").error().message(), HasSubstr("sandbox: is required"));
}

}  // namespace
}  // namespace sandbox::api
