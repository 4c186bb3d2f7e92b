#include <worker/completions.hpp>

#include <gtest/gtest.h>

namespace sandbox::sandboxd {
namespace {

domain::Assignment exec_assignment() {
    domain::Assignment assignment;
    assignment.kind = domain::ExecWork{};
    assignment.attempt = 2;
    return assignment;
}

runtime::ExecResult ended(std::int64_t exit_code) {
    runtime::ExecResult result;
    result.output.exit_code = exit_code;
    result.output.stdout_text = "out";
    return result;
}

TEST(Completions, take_exit_code_zero_for_success) {
    const auto report = of_exec(exec_assignment(), ended(0), false);
    EXPECT_TRUE(report.success);
    EXPECT_FALSE(report.error);
    EXPECT_EQ(report.output->stdout_text, "out");
    EXPECT_EQ(report.sandbox_state, domain::SandboxState::running);
    EXPECT_EQ(report.attempt, 2);
}

TEST(Completions, say_how_a_command_exited_unless_the_runtime_knows_better) {
    EXPECT_EQ(of_exec(exec_assignment(), ended(3), false).error, "command exited with status 3");
    auto missing = ended(127);
    missing.error = "nosuch: not found";
    const auto report = of_exec(exec_assignment(), missing, false);
    EXPECT_FALSE(report.success);
    EXPECT_EQ(report.error, "nosuch: not found");
    EXPECT_EQ(report.output->stdout_text, "out");
}

// What it had written before the kill is kept.
TEST(Completions, report_a_killed_command_as_cancelled) {
    auto killed = ended(143);
    killed.output.signal = 15;
    const auto report = of_exec(exec_assignment(), killed, true);
    EXPECT_FALSE(report.success);
    EXPECT_EQ(report.error, "cancelled");
    EXPECT_EQ(report.output->exit_code, 137);
    EXPECT_EQ(report.output->stdout_text, "out");
}

// The cancel came too late: what happened is what is said.
TEST(Completions, report_a_command_that_ended_before_the_kill_as_it_ended) {
    EXPECT_TRUE(of_exec(exec_assignment(), ended(0), true).success);
    EXPECT_EQ(of_exec(exec_assignment(), ended(5), true).error, "command exited with status 5");
}

}  // namespace
}  // namespace sandbox::sandboxd
