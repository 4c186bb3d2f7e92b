#include <sandbox/domain/node.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

constexpr const char* kMinimalNode = R"({
    "id": "00000000-0000-0000-0000-000000000009", "name": "n1", "region": "eu", "zone": "a",
    "capacity": {"total": {"cpu_millis": 8000, "memory_mib": 16384, "disk_mib": 102400, "pids": 4096},
                 "available": {"cpu_millis": 0, "memory_mib": 0, "disk_mib": 0, "pids": 0}},
    "last_seen": "2026-11-30T03:04:05.123456Z"})";

TEST(Node, of_an_older_worker_gets_defaults) {
    Problems problems;
    const auto node = read_node(json_of(kMinimalNode), "node", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_EQ(node.capacity.total, (Resources{8000, 16384, 102400, 4096}));
    EXPECT_EQ(node.capacity.available, (Resources{0, 0, 0, 0}));
    EXPECT_EQ(node.capacity.max_sandboxes, 0);
    EXPECT_TRUE(node.supported_tiers.empty());
    EXPECT_EQ(node.pressure, 0);
    EXPECT_FALSE(node.draining);
    EXPECT_EQ(node.incarnation, std::nullopt);
    EXPECT_EQ(node.edge, std::nullopt);
}

TEST(Node, survives_the_way_through_json) {
    Problems problems;
    auto node = read_node(json_of(kMinimalNode), "node", problems);
    node.labels = {{"disk", "ssd"}};
    node.capacity.max_sandboxes = 5;
    node.capacity.running_sandboxes = 2;
    node.supported_tiers = {Tier::container, Tier::microvm};
    node.warm_images = {"python:3.13"};
    node.pressure = 0.1F;
    node.draining = node.supports_http_tunnels = true;
    node.runtime = RuntimeInfo{"docker", "20.10"};
    node.version = "0.1.0";
    node.incarnation = an_id<Incarnation>(3);
    node.features = {"stdin", "cancel"};
    node.edge = "embedded";
    const nlohmann::json json = node;
    const auto read = read_node(json, "node", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_EQ(nlohmann::json(read), json);
    EXPECT_EQ(read.pressure, 0.1F);
    EXPECT_EQ(json["pressure"].dump(), "0.1");
}

TEST(Node, says_everything_that_is_missing_or_wrong) {
    Problems problems;
    (void)read_node(json_of(R"({"id": "n1", "name": "n", "zone": "z", "pressure": 1.5, "incarnation": "x",
                                "supported_tiers": ["container", "vm", 1],
                                "capacity": {"total": {"cpu_millis": -1, "memory_mib": 1e3, "disk_mib": 1, "pids": 1}}
                               })"),
                    "node", problems);

    EXPECT_EQ(
        problems.items(),
        (std::vector<std::string>{
            "node.id: must be a UUID", "node.region: is required: a string",
            "node.capacity.total.cpu_millis: must be an integer from 0 to 4294967295",
            "node.capacity.total.memory_mib: must be an integer from 0 to 4294967295",
            "node.capacity.available: is required", "node.supported_tiers[1]: must be one of container, microvm",
            "node.supported_tiers[2]: must be one of container, microvm", "node.pressure: must be a number from 0 to 1",
            "node.last_seen: is required", "node.incarnation: must be a UUID"}));
}

TEST(Heartbeat, of_an_older_worker_has_no_inventory_which_is_not_an_empty_one) {
    auto json = json_of(R"({"capacity": {"total": {"cpu_millis": 1, "memory_mib": 1, "disk_mib": 1, "pids": 1},
                                         "available": {"cpu_millis": 1, "memory_mib": 1, "disk_mib": 1, "pids": 1}},
                            "pressure": 0.92, "warm_images": []})");
    Problems problems;
    const auto older = read_heartbeat(json, "", problems);
    json["in_flight"] = json["inventory"] = nlohmann::json::array();
    const auto newer = read_heartbeat(json, "", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_EQ(older.pressure, 0.92F);
    EXPECT_FALSE(older.in_flight);
    EXPECT_FALSE(older.inventory);
    EXPECT_TRUE(newer.in_flight && newer.in_flight->empty());
    EXPECT_TRUE(newer.inventory && newer.inventory->empty());
}

TEST(Heartbeat, survives_the_way_through_json) {
    Heartbeat heartbeat;
    heartbeat.capacity = {{4000, 8192, 10240, 512}, {1, 2, 3, 4}, 7, 1};
    heartbeat.pressure = 0.25F;
    heartbeat.warm_images = {"busybox"};
    heartbeat.in_flight = {{an_id<AssignmentId>(3), 2, "pulling image"}};
    heartbeat.inventory = {{.sandbox_id = an_id<SandboxId>(1), .startup = Startup{true, std::nullopt, "hi"}},
                           {.sandbox_id = an_id<SandboxId>(2), .running = false, .exit_code = 137, .oom_killed = true}};
    const nlohmann::json json = heartbeat;
    Problems problems;
    const auto read = read_heartbeat(json, "", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_EQ(nlohmann::json(read), json);
    EXPECT_EQ(read.capacity, heartbeat.capacity);
    EXPECT_EQ(json["inventory"][1], json_of(R"({"sandbox_id": "00000000-0000-0000-0000-000000000002",
        "state": "exited", "exit_code": 137, "oom_killed": true, "startup": null})"));
}

TEST(Heartbeat, needs_capacity_pressure_and_images) {
    Problems problems;
    (void)read_heartbeat(json_of("{}"), "", problems);

    EXPECT_EQ(problems.items(),
              (std::vector<std::string>{"capacity: is required", "pressure: is required", "warm_images: is required"}));
}

}  // namespace
}  // namespace sandbox::domain
