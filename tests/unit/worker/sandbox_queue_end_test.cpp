// How work ends early: cancels, deletes, removals, and the end of the worker.
#include "sandbox_queue_fixture.hpp"

namespace sandbox::sandboxd {
namespace {

TEST_F(SandboxQueueTest, deletes_behind_nobody) {
    queue.set_limits({.creates = 1, .execs_per_sandbox = 2});
    give_create(sandbox());
    const auto box = sandbox();
    const domain::OperationId execs[] = {give_exec(box), give_exec(box), give_exec(box)};

    const auto destroy = give_delete(box).operation_id;

    EXPECT_THAT(runtime.destroyed, ElementsAre(box));
    EXPECT_TRUE(report_of(destroy).success);
    for (const auto& exec : execs) {
        EXPECT_FALSE(report_of(exec).success);
        EXPECT_EQ(report_of(exec).error, "cancelled");
        EXPECT_EQ(report_of(exec).output->exit_code, 137);
        EXPECT_EQ(report_of(exec).sandbox_state, SandboxState::running);
    }
    EXPECT_THAT(queue.in_flight(), SizeIs(1));
}

TEST_F(SandboxQueueTest, ends_a_create_under_way_and_one_that_waits) {
    queue.set_limits({.creates = 1});
    const auto first = sandbox(), second = sandbox();
    const auto under_way = give_create(first).operation_id;
    const auto waiting = give_create(second).operation_id;
    give_delete(second);
    give_delete(first);

    for (const auto operation : {under_way, waiting}) {
        EXPECT_EQ(report_of(operation).error, "cancelled");
        EXPECT_EQ(report_of(operation).sandbox_state, SandboxState::failed);
        EXPECT_FALSE(report_of(operation).output);
    }
    EXPECT_EQ(queue.sandboxes(), 0);
    EXPECT_THAT(queue.in_flight(), IsEmpty());
}

TEST_F(SandboxQueueTest, does_not_begin_a_create_after_its_delete) {
    const auto box = sandbox();
    queue.accept(assignment(box, domain::CreateWork{}));
    queue.accept(assignment(box, domain::DeleteWork{}));
    settle();

    EXPECT_THAT(runtime.creating, IsEmpty());
    EXPECT_THAT(runtime.destroyed, SizeIs(testing::Ge(1)));
    EXPECT_THAT(inbox.reports, SizeIs(2));
}

TEST_F(SandboxQueueTest, removes_what_a_late_create_has_made) {
    runtime.ends_creates_on_destroy = false;
    const auto box = sandbox();
    give_create(box);
    const auto destroy = give_delete(box).operation_id;
    EXPECT_THAT(runtime.destroyed, ElementsAre(box));
    EXPECT_THAT(inbox.reports, IsEmpty());

    runtime.end_create(box);
    settle();
    EXPECT_THAT(runtime.destroyed, ElementsAre(box, box));
    EXPECT_TRUE(report_of(destroy).success);
}

TEST_F(SandboxQueueTest, takes_work_of_a_sandbox_that_goes_for_cancelled) {
    runtime.holds_destroys = true;
    const auto box = sandbox();
    give_delete(box);
    const auto exec = give_exec(box);

    EXPECT_EQ(report_of(exec).error, "cancelled");
    EXPECT_THAT(runtime.executing, IsEmpty());
    runtime.end_destroys();
    settle();
}

TEST_F(SandboxQueueTest, cancels_a_command_at_work_and_one_that_waits) {
    queue.set_limits({.execs_per_sandbox = 1});
    const auto box = sandbox();
    const auto working = give_exec(box), waiting = give_exec(box);

    EXPECT_TRUE(queue.cancel(waiting));
    EXPECT_TRUE(queue.cancel(working));
    EXPECT_FALSE(queue.cancel(working));
    settle();

    EXPECT_THAT(runtime.killed, ElementsAre(working));
    for (const auto operation : {working, waiting}) {
        EXPECT_EQ(report_of(operation).error, "cancelled");
        EXPECT_EQ(report_of(operation).output->exit_code, 137);
    }
    EXPECT_FALSE(queue.cancel(working));
}

TEST_F(SandboxQueueTest, cancels_commands_only) {
    const auto box = sandbox();
    EXPECT_FALSE(queue.cancel(give_create(box).operation_id));
    EXPECT_THAT(runtime.creating, ElementsAre(box));
}

TEST_F(SandboxQueueTest, removes_without_a_report_and_not_twice) {
    const auto unwanted = sandbox(), going = sandbox();
    runtime.holds_destroys = true;
    give_delete(going);
    queue.remove(unwanted);
    queue.remove(unwanted);
    queue.remove(going);
    settle();
    queue.remove(unwanted);
    settle();
    EXPECT_THAT(runtime.destroyed, testing::UnorderedElementsAre(going, unwanted));

    runtime.end_destroys();
    settle();
    EXPECT_THAT(runtime.destroyed, SizeIs(2));
    EXPECT_THAT(inbox.reports, SizeIs(1));
}

TEST_F(SandboxQueueTest, hands_back_what_has_not_begun) {
    queue.set_limits({.creates = 1, .execs_per_sandbox = 1});
    const auto box = sandbox(), late = sandbox(), busy = sandbox();
    const auto working = give(box, domain::ExecWork{});
    const auto waiting = give(box, domain::ExecWork{});
    give_create(busy);
    const auto unbegun = give_create(late);

    EXPECT_THAT(queue.close(), testing::UnorderedElementsAre(waiting.id, unbegun.id));
    EXPECT_EQ(queue.room(), 0);
    runtime.end_exec(working.operation_id);
    runtime.end_create(busy);
    test::run(io, queue.drain(in(std::chrono::seconds(10))));

    EXPECT_THAT(runtime.executing, IsEmpty());
    EXPECT_THAT(runtime.creating, IsEmpty());
    EXPECT_THAT(inbox.reports, SizeIs(2));
}

TEST_F(SandboxQueueTest, abandons_at_the_deadline_and_leaves_the_sandbox_alone) {
    give_exec(sandbox());
    std::ignore = queue.close();
    test::run(io, queue.drain(in(std::chrono::milliseconds(1))));

    EXPECT_THAT(inbox.reports, IsEmpty());
    EXPECT_THAT(runtime.killed, IsEmpty());
    EXPECT_THAT(runtime.destroyed, IsEmpty());
}

}  // namespace
}  // namespace sandbox::sandboxd
