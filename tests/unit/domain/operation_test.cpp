#include <array>

#include <sandbox/domain/operation.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

Output an_output() {
    return {.exit_code = 137,
            .stdout_text = "out",
            .stderr_text = "err\xEF\xBF\xBD",
            .truncated = true,
            .timed_out = true,
            .signal = 9,
            .oom_killed = true,
            .stdout_bytes = 3,
            .stderr_bytes = 4,
            .duration_ms = 1500,
            .stdout_base64 = std::nullopt,
            .stderr_base64 = "ZXJy/w=="};
}

TEST(Operation, writes_every_field_with_null_for_what_is_absent) {
    Operation operation;
    operation.id = an_id<OperationId>(2);
    operation.sandbox_id = an_id<SandboxId>(1);
    operation.created_at = operation.updated_at = a_time();

    EXPECT_EQ(nlohmann::json(operation), json_of(R"({
        "id": "00000000-0000-0000-0000-000000000002", "sandbox_id": "00000000-0000-0000-0000-000000000001",
        "kind": "create", "state": "pending", "output": null, "error": null,
        "created_at": "2026-11-30T03:04:05.123456Z", "updated_at": "2026-11-30T03:04:05.123456Z",
        "started_at": null, "argv": null, "phase": null})"));
}

TEST(Operation, survives_the_way_through_json) {
    Operation operation;
    operation.id = an_id<OperationId>(2);
    operation.sandbox_id = an_id<SandboxId>(1);
    operation.kind = OperationKind::exec;
    operation.state = OperationState::failed;
    operation.output = an_output();
    operation.error = "command exited with status 137";
    operation.created_at = a_time();
    operation.started_at = a_time(1);
    operation.updated_at = a_time(2);
    operation.argv = {"sleep", "60"};
    operation.phase = "running";
    const nlohmann::json json = operation;
    Problems problems;
    const auto read = read_operation(json, "operation", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_EQ(nlohmann::json(read), json);
    EXPECT_EQ(read.output, an_output());
}

// What a command writes is bytes, NUL among them.
TEST(Operation, keeps_nul_in_its_output) {
    auto output = an_output();
    output.stdout_text = std::string("a\0b", 3);
    constexpr std::array<std::string_view, 2> kBytes{"stdout", "stderr"};
    const auto json = parse_json(dump_json(nlohmann::json(output)), kBytes);
    ASSERT_TRUE(json) << json.error().message();
    Problems problems;

    EXPECT_EQ(read_output(*json, "", problems), output);
    EXPECT_EQ(joined(problems), "");
}

TEST(Operation, of_an_older_controller_gets_defaults) {
    Problems problems;
    const auto operation = read_operation(json_of(R"({
        "id": "00000000-0000-0000-0000-000000000002", "sandbox_id": "00000000-0000-0000-0000-000000000001",
        "state": "succeeded", "output": {"exit_code": 0, "stdout": "four", "stderr": "", "truncated": false},
        "error": null, "created_at": "2026-11-30T03:04:05+01:00", "updated_at": "2026-11-30T03:04:05.5Z"})"),
                                          "", problems);

    EXPECT_EQ(joined(problems), "");
    EXPECT_TRUE(has_ended(operation.state));
    EXPECT_EQ(operation.output->stdout_bytes, 4);
    EXPECT_EQ(format_time(operation.created_at), "2026-11-30T02:04:05.000000Z");
    EXPECT_EQ(operation.phase, std::nullopt);
}

TEST(Operation, with_ill_formed_parts_is_reported_by_path) {
    Problems problems;
    (void)read_operation(json_of(R"({"id": "x", "state": "done", "output": {"exit_code": 4294967296, "stdout": 1,
                                     "stdout_base64": "*"}, "created_at": "today"})"),
                         "operation", problems);

    EXPECT_EQ(problems.items(),
              (std::vector<std::string>{"operation.id: must be a UUID", "operation.sandbox_id: is required",
                                        "operation.state: must be one of pending, running, succeeded, failed",
                                        "operation.output.exit_code: must be an integer from -2147483648 to 2147483647",
                                        "operation.output.stdout: must be a string",
                                        "operation.output.stdout_base64: is no base64 (RFC 4648, with padding)",
                                        "operation.created_at: must be an RFC 3339 time such as 2026-11-30T03:04:05Z",
                                        "operation.updated_at: is required"}));
}

}  // namespace
}  // namespace sandbox::domain
