#include <sandbox/domain/event.hpp>
#include <sandbox/domain/sandbox.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

Sandbox a_sandbox() {
    Sandbox sandbox;
    sandbox.id = an_id<SandboxId>(1);
    sandbox.spec = a_spec();
    sandbox.state = SandboxState::running;
    sandbox.node_id = an_id<NodeId>(9);
    sandbox.isolation = Tier::microvm;
    sandbox.risk_score = 55;
    sandbox.created_at = a_time();
    sandbox.updated_at = a_time(1);
    sandbox.expires_at = a_time(3600);
    return sandbox;
}

TEST(Sandbox, writes_every_field_with_null_for_what_is_absent) {
    auto json = nlohmann::json(a_sandbox());
    EXPECT_EQ(json["spec"]["tenant"], "acme");
    json.erase("spec");

    EXPECT_EQ(json, json_of(R"({
        "id": "00000000-0000-0000-0000-000000000001", "state": "running",
        "node_id": "00000000-0000-0000-0000-000000000009", "isolation": "microvm", "risk_score": 55,
        "created_at": "2026-11-30T03:04:05.123456Z", "updated_at": "2026-11-30T03:04:06.123456Z",
        "expires_at": "2026-11-30T04:04:05.123456Z", "failure": null, "tunnels": [], "placement_reasons": [],
        "startup": null})"));
}

TEST(Sandbox, survives_the_way_through_json) {
    auto sandbox = a_sandbox();
    sandbox.failure = "expose: no such port";
    sandbox.tunnels = {a_tunnel()};
    sandbox.placement_reasons = {"risk=55; required_isolation=microvm"};
    sandbox.startup = {.running = false, .exit_code = 3, .tail = "bye\n"};
    const nlohmann::json json = sandbox;
    Problems problems;
    const auto read = read_sandbox(json, "sandbox", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_EQ(nlohmann::json(read), json);
}

TEST(Sandbox, of_an_older_controller_gets_defaults) {
    auto json = nlohmann::json(a_sandbox());
    for (const auto* later : {"placement_reasons", "startup"}) json.erase(later);
    json["something_new"] = 1;
    Problems problems;
    const auto read = read_sandbox(json, "sandbox", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_EQ(read.startup, std::nullopt);
}

TEST(Tunnel, writes_every_field) {
    EXPECT_EQ(nlohmann::json(a_tunnel()), json_of(R"({
        "id": "00000000-0000-0000-0000-000000000005", "container_port": 8000, "protocol": "http",
        "subdomain": "demo", "hostname": "demo.tunnel.example.com",
        "public_url": "https://demo.tunnel.example.com", "authenticated": false, "state": "active",
        "failure": null})"));
}

// The tail is what a process wrote, but it is kept as text, which databases refuse with a NUL in it.
TEST(Startup, keeps_no_nul_in_the_tail) {
    const Startup startup{.running = true, .exit_code = std::nullopt, .tail = std::string("a\0b", 3)};

    EXPECT_EQ(nlohmann::json(startup), json_of(R"({"running": true, "exit_code": null, "tail": "a\ufffdb"})"));
}

TEST(Event, writes_every_field) {
    const Event event{.event_id = an_id<EventId>(7),
                      .event_type = "sandbox.scheduled",
                      .tenant = "acme",
                      .sandbox_id = an_id<SandboxId>(1),
                      .node_id = an_id<NodeId>(9),
                      .timestamp = a_time(),
                      .attributes = {{"state", "scheduled"}}};

    EXPECT_EQ(nlohmann::json(event), json_of(R"({
        "event_id": "00000000-0000-0000-0000-000000000007", "event_type": "sandbox.scheduled", "tenant": "acme",
        "sandbox_id": "00000000-0000-0000-0000-000000000001", "node_id": "00000000-0000-0000-0000-000000000009",
        "timestamp": "2026-11-30T03:04:05.123456Z", "attributes": {"state": "scheduled"}})"));
}

}  // namespace
}  // namespace sandbox::domain
