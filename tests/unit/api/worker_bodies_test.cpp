#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>

namespace sandbox::api {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto kId = "019f0000-0000-7000-8000-000000000001";
constexpr auto kOther = "019f0000-0000-7000-8000-000000000002";

json capacity() {
    json quantities{{"cpu_millis", 4000}, {"memory_mib", 8192}, {"disk_mib", 50000}, {"pids", 4096}};
    return {{"total", quantities}, {"available", quantities}};
}

/// What the oldest worker sends: nothing but what was always required.
json old_node() {
    return {{"id", kId},      {"name", "n1"},           {"region", "eu"},
            {"zone", "eu-1"}, {"capacity", capacity()}, {"last_seen", "2026-11-30T03:04:05Z"}};
}

TEST(RegisterRequest, takes_an_older_workers_node_and_a_newer_ones_fields) {
    auto node = old_node();
    node["quantum_bits"] = 5;

    auto read = read_register_request(json{{"node", node}, {"hello", 1}}.dump());

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->id.text(), kId);
    EXPECT_EQ(read->capacity.total.pids, 4096);
    EXPECT_EQ(read->incarnation, std::nullopt);
    EXPECT_TRUE(read->features.empty());
    EXPECT_FALSE(read->draining);
}

TEST(RegisterRequest, survives_the_way_from_worker_to_controller) {
    auto node = read_register_request(json{{"node", old_node()}}.dump()).value();
    node.features = {"stdin", "cancel"};
    node.incarnation = domain::Incarnation::parse(kOther);

    auto read = read_register_request(register_request(node));

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(json(*read), json(node));
}

TEST(RegisterRequest, says_all_that_is_missing) {
    auto read = read_register_request(R"({"node": {"id": "7", "name": "n"}})");

    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message(),
                AllOf(HasSubstr("node.id: "), HasSubstr("node.region: "), HasSubstr("node.zone: "),
                      HasSubstr("node.capacity: "), HasSubstr("node.last_seen: ")));
    EXPECT_EQ(read_register_request("{}").error().message(), "node: is required");
    EXPECT_EQ(read_register_request("[]").error().message(), "the document must be an object");
}

// Absent and empty differ: the one renews all leases, the other none.
TEST(HeartbeatRequest, tells_an_older_worker_from_an_idle_one) {
    json body{{"capacity", capacity()}, {"pressure", 0.25}, {"warm_images", {"a:1"}}, {"new_field", {{"x", 1}}}};

    auto old = read_heartbeat_request(body.dump());
    ASSERT_TRUE(old) << old.error().message();
    EXPECT_FALSE(old->in_flight);
    EXPECT_FALSE(old->inventory);

    body["in_flight"] = json::array();
    body["inventory"] =
        json::array({json{{"sandbox_id", kId}, {"state", "exited"}, {"exit_code", 137}, {"oom_killed", true}}});
    auto idle = read_heartbeat_request(body.dump());
    ASSERT_TRUE(idle) << idle.error().message();
    EXPECT_TRUE(idle->in_flight && idle->in_flight->empty());
    EXPECT_EQ(idle->inventory->at(0).exit_code, 137);
    EXPECT_FALSE(idle->inventory->at(0).running);
}

TEST(CompleteRequest, takes_an_older_workers_report) {
    json output{{"exit_code", 3}, {"stdout", "out"}, {"stderr", ""}, {"truncated", false}};
    json body{{"assignment_id", kId},
              {"operation_id", kOther},
              {"sandbox_id", kId},
              {"success", false},
              {"sandbox_state", "running"},
              {"output", output},
              {"error", "command exited with status 3"}};

    auto read = read_complete_request(body.dump());

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->attempt, std::nullopt);
    EXPECT_EQ(read->output->exit_code, 3);
    EXPECT_EQ(read->output->stdout_text, "out");
}

// A command's output is bytes: NUL in it is no reason to lose the report.
TEST(CompleteRequest, takes_nul_in_output) {
    auto read = read_complete_request(R"({"assignment_id": "019f0000-0000-7000-8000-000000000001",
        "operation_id": "019f0000-0000-7000-8000-000000000001", "sandbox_id": "019f0000-0000-7000-8000-000000000001",
        "success": true, "sandbox_state": "running",
        "output": {"exit_code": 0, "stdout": "a\u0000b", "stderr": "\u0000", "truncated": false}})");

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->output->stdout_text, std::string("a\0b", 3));
}

TEST(ReleaseRequest, is_a_list_of_ids) {
    std::vector<domain::AssignmentId> ids{*domain::AssignmentId::parse(kId), *domain::AssignmentId::parse(kOther)};

    EXPECT_EQ(read_release_request(release_request(ids)).value(), ids);
    EXPECT_TRUE(read_release_request(release_request({})).value().empty());
    EXPECT_EQ(read_release_request(R"({"assignment_ids": ["x", 1]})").error().message(),
              "assignment_ids[0]: must be a UUID; assignment_ids[1]: must be a UUID");
    EXPECT_EQ(read_release_request("{}").error().message(), "assignment_ids: is required");
}

}  // namespace
}  // namespace sandbox::api
