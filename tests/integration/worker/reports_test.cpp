// What becomes of a worker's reports, and what an older controller is told.
#include "worker_fixture.hpp"

namespace sandbox::sandboxd {
namespace {

TEST_F(WorkerTest, repeats_a_report_until_it_is_taken) {
    start_registered();
    desk->report_failures = {503, 500, 408};
    const auto create = lay_create(id<domain::SandboxId>());
    ASSERT_TRUE(reported(create));
    EXPECT_THAT(desk->report_failures, IsEmpty());
}

TEST_F(WorkerTest, gives_a_report_up_that_nobody_wants) {
    start_registered();
    desk->report_failures = {409, 404};
    lay_create(id<domain::SandboxId>());
    lay_create(id<domain::SandboxId>());
    ASSERT_TRUE(eventually([&] { return desk->report_failures.empty(); }));
    ASSERT_TRUE(eventually([&] { return desk->heartbeats.back().in_flight->empty(); }));
    EXPECT_THAT(desk->reports, IsEmpty());
}

TEST_F(WorkerTest, reports_a_failure_when_its_report_can_not_be_read) {
    start_registered();
    const auto box = make_sandbox();
    for (const unsigned status : {400U, 422U}) {
        desk->report_failures = {status};
        const auto exec = lay_exec(box, {"sh", "-c", "echo some words; exit 3"});
        ASSERT_TRUE(reported(exec));
        const auto& report = *report_of(exec);
        EXPECT_FALSE(report.success);
        EXPECT_EQ(report.error, "the controller could not read the worker's report");
        EXPECT_EQ(report.output->exit_code, 3);
        EXPECT_EQ(report.output->stdout_text, "");
    }
}

TEST_F(WorkerTest, cuts_a_report_that_is_too_large) {
    start_registered();
    const auto box = make_sandbox();
    desk->report_limit_bytes = 20'000;
    const auto exec = lay_exec(box, {"sh", "-c", "echo first; head -c 90000 /dev/zero | tr '\\0' x; echo; echo last"});

    ASSERT_TRUE(reported(exec));
    const auto& output = *report_of(exec)->output;
    EXPECT_TRUE(report_of(exec)->success);
    EXPECT_TRUE(output.truncated);
    EXPECT_LT(output.stdout_text.size(), 20'000);
    EXPECT_EQ(output.stdout_bytes, 90'012);
    EXPECT_THAT(output.stdout_text, testing::StartsWith("first\n"));
    EXPECT_THAT(output.stdout_text, testing::EndsWith("last\n"));
}

TEST_F(WorkerTest, keeps_as_much_output_as_the_controller_takes) {
    start_registered();
    const auto box = make_sandbox();
    const auto exec = lay_exec(box, {"head", "-c", "300000", "/dev/zero"});
    ASSERT_TRUE(reported(exec));
    EXPECT_TRUE(report_of(exec)->output->truncated);
    EXPECT_LE(report_of(exec)->output->stdout_text.size(), 100'000);
}

TEST_F(WorkerTest, gives_capacity_back_between_heartbeats) {
    start_registered();
    const auto box = make_sandbox();
    desk->holds_heartbeats = true;
    const auto beats = desk->heartbeats.size();
    ASSERT_TRUE(eventually([&] { return desk->heartbeats.size() > beats; }));
    EXPECT_EQ(desk->heartbeats.back().capacity.available.cpu_millis, 7000);

    const auto destroy = lay(box, domain::DeleteWork{});
    ASSERT_TRUE(eventually([&] { return runtime.sandboxes() == 0; }));
    run_for(milliseconds(100));
    EXPECT_EQ(report_of(destroy), nullptr);

    desk->answer_heartbeats();
    EXPECT_TRUE(reported(destroy));
}

TEST_F(WorkerTest, tells_an_older_controller_its_capacity_before_a_result) {
    desk.emplace(io);
    desk->older = true;
    start_registered();
    const auto box = id<domain::SandboxId>();
    desk->calls.clear();
    const auto create = lay_create(box);
    ASSERT_TRUE(reported(create));
    EXPECT_EQ(desk->calls.back(), "complete");
    EXPECT_EQ(desk->calls[desk->calls.size() - 2], "heartbeat");
    EXPECT_EQ(desk->heartbeats.back().capacity.available.cpu_millis, 7000);

    const auto destroy = lay(box, domain::DeleteWork{});
    ASSERT_TRUE(reported(destroy));
    EXPECT_EQ(desk->heartbeats.back().capacity.available.cpu_millis, 8000);
}

TEST_F(WorkerTest, polls_an_older_controller_slowly) {
    desk.emplace(io);
    desk->older = true;
    start_registered();
    desk->lease_limits.clear();
    run_for(milliseconds(1600));
    EXPECT_GE(desk->lease_limits.size(), 2);
    EXPECT_LE(desk->lease_limits.size(), 4);
}

}  // namespace
}  // namespace sandbox::sandboxd
