#include <sandbox/domain/assignment.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

Assignment an_assignment(Work work) {
    Assignment assignment;
    assignment.id = an_id<AssignmentId>(3);
    assignment.operation_id = an_id<OperationId>(2);
    assignment.sandbox_id = an_id<SandboxId>(1);
    assignment.node_id = an_id<NodeId>(9);
    assignment.kind = std::move(work);
    assignment.state = AssignmentState::leased;
    assignment.attempt = 1;
    assignment.lease_until = a_time(30);
    assignment.created_at = a_time();
    return assignment;
}

Command a_command() {
    return {.argv = {"cat"}, .cwd = "/", .env = {{"A", "b"}}, .timeout_seconds = 5, .stdin_bytes = "\xFF"};
}

TEST(Assignment, of_every_kind_survives_the_way_through_json) {
    const std::vector<std::pair<std::string, Work>> all{{"create", CreateWork{a_spec(), Tier::microvm, {a_tunnel()}}},
                                                        {"exec", ExecWork{a_command()}},
                                                        {"expose", ExposeWork{a_tunnel()}},
                                                        {"unexpose", UnexposeWork{a_tunnel()}},
                                                        {"delete", DeleteWork{}}};
    for (const auto& [name, work] : all) {
        const nlohmann::json json = an_assignment(work);
        Problems problems;
        const auto read = read_assignment(json, "", problems);

        EXPECT_EQ(joined(problems), "");
        EXPECT_EQ(json["kind"]["kind"], name);
        EXPECT_EQ(to_text(kind_of(read.kind)), name);
        EXPECT_EQ(nlohmann::json(read), json);
    }
}

TEST(Assignment, carries_its_work_under_one_tagged_object) {
    const nlohmann::json json = an_assignment(DeleteWork{});

    EXPECT_EQ(json, json_of(R"({
        "id": "00000000-0000-0000-0000-000000000003", "operation_id": "00000000-0000-0000-0000-000000000002",
        "sandbox_id": "00000000-0000-0000-0000-000000000001", "node_id": "00000000-0000-0000-0000-000000000009",
        "kind": {"kind": "delete"}, "state": "leased", "attempt": 1,
        "lease_until": "2026-11-30T03:04:35.123456Z", "created_at": "2026-11-30T03:04:05.123456Z"})"));
}

TEST(Assignment, without_its_parts_is_reported_by_path) {
    const auto problems_of = [](const char* kind) {
        auto json = nlohmann::json(an_assignment(DeleteWork{}));
        json["kind"] = json_of(kind);
        Problems problems;
        (void)read_assignment(json, "assignments[0]", problems);
        return joined(problems);
    };

    EXPECT_EQ(problems_of(R"({"kind": "paint"})"),
              "assignments[0].kind.kind: must be one of create, exec, expose, unexpose, delete");
    EXPECT_EQ(problems_of(R"({"kind": "exec"})"), "assignments[0].kind.command: is required");
    EXPECT_EQ(problems_of(R"({"kind": "expose"})"), "assignments[0].kind.tunnel: is required");
    EXPECT_EQ(problems_of(R"({"kind": "create"})"),
              "assignments[0].kind.spec: is required; assignments[0].kind.isolation: is required: a string");
    EXPECT_EQ(problems_of("null"), "assignments[0].kind: is required");
    EXPECT_EQ(problems_of("\"delete\""), "assignments[0].kind: must be an object");
}

TEST(Completion, survives_the_way_through_json) {
    Completion completion;
    completion.assignment_id = an_id<AssignmentId>(3);
    completion.operation_id = an_id<OperationId>(2);
    completion.sandbox_id = an_id<SandboxId>(1);
    completion.sandbox_state = SandboxState::failed;
    completion.output = Output{};
    completion.error = "no such image";
    completion.attempt = 4;
    completion.startup = Startup{true, std::nullopt, ""};
    const nlohmann::json json = completion;
    Problems problems;

    EXPECT_EQ(nlohmann::json(read_completion(json, "", problems)), json);
    EXPECT_EQ(joined(problems), "");
}

TEST(Completion, of_an_older_worker_has_no_attempt) {
    Problems problems;
    const auto completion = read_completion(json_of(R"({
        "assignment_id": "00000000-0000-0000-0000-000000000003",
        "operation_id": "00000000-0000-0000-0000-000000000002",
        "sandbox_id": "00000000-0000-0000-0000-000000000001", "success": true, "sandbox_state": "running",
        "output": null, "error": null})"),
                                            "", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_EQ(completion.attempt, std::nullopt);
    EXPECT_EQ(completion.output, std::nullopt);
}

TEST(Completion, says_everything_that_is_missing) {
    Problems problems;
    (void)read_completion(json_of(R"({"success": "yes", "sandbox_state": "gone"})"), "", problems);

    EXPECT_EQ(problems.items(),
              (std::vector<std::string>{
                  "assignment_id: is required", "operation_id: is required", "sandbox_id: is required",
                  "success: must be true or false",
                  "sandbox_state: must be one of scheduled, creating, running, stopping, stopped, failed"}));
}

}  // namespace
}  // namespace sandbox::domain
