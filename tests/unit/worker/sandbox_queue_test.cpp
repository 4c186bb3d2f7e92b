#include "sandbox_queue_fixture.hpp"

namespace sandbox::sandboxd {
namespace {

TEST_F(SandboxQueueTest, reports_a_create_as_running_and_a_delete_as_stopped) {
    const auto box = sandbox();
    const auto create = give_create(box);
    runtime.end_create(box);
    settle();
    const auto destroy = give_delete(box);

    ASSERT_THAT(inbox.reports, SizeIs(2));
    EXPECT_TRUE(report_of(create.operation_id).success);
    EXPECT_EQ(report_of(create.operation_id).sandbox_state, SandboxState::running);
    EXPECT_EQ(report_of(create.operation_id).assignment_id, create.id);
    EXPECT_TRUE(report_of(destroy.operation_id).success);
    EXPECT_EQ(report_of(destroy.operation_id).sandbox_state, SandboxState::stopped);
    EXPECT_THAT(queue.in_flight(), IsEmpty());
}

TEST_F(SandboxQueueTest, reports_what_fails_with_its_sentence) {
    runtime.refuses = Error(Code::unavailable, "the engine does not answer");
    const auto box = sandbox();
    const auto create = give_create(box).operation_id;
    const auto destroy = give_delete(box).operation_id;

    for (const auto operation : {create, destroy}) {
        EXPECT_FALSE(report_of(operation).success);
        EXPECT_EQ(report_of(operation).sandbox_state, SandboxState::failed);
        EXPECT_EQ(report_of(operation).error, "the engine does not answer");
    }
    EXPECT_EQ(queue.sandboxes(), 0);
}

// A runtime's fault fails the operation, not the worker.
TEST_F(SandboxQueueTest, survives_a_runtime_that_throws) {
    runtime.throws = true;
    const auto create = give_create(sandbox()).operation_id;

    EXPECT_EQ(report_of(create).error, "a fault of the runtime");
    EXPECT_THAT(queue.in_flight(), IsEmpty());
}

// As many creates at once as configured; who waits begins in order as others end.
TEST_F(SandboxQueueTest, bounds_creates) {
    queue.set_limits({.creates = 2});
    const domain::SandboxId boxes[] = {sandbox(), sandbox(), sandbox(), sandbox()};
    for (const auto& box : boxes) give_create(box);
    EXPECT_THAT(runtime.creating, ElementsAre(boxes[0], boxes[1]));

    runtime.end_create(boxes[1]);
    settle();
    EXPECT_THAT(runtime.creating, ElementsAre(boxes[0], boxes[2]));
    EXPECT_THAT(queue.in_flight(), SizeIs(3));
}

TEST_F(SandboxQueueTest, runs_commands_of_one_sandbox_side_by_side_up_to_the_limit) {
    const auto box = sandbox();
    std::vector<domain::OperationId> execs;
    for (int i = 0; i < 66; ++i) execs.push_back(give_exec(box));
    EXPECT_THAT(runtime.executing, SizeIs(64));
    const auto elsewhere = give_exec(sandbox());
    EXPECT_EQ(runtime.executing.back().second, elsewhere);

    runtime.end_exec(execs[7]);
    settle();
    EXPECT_EQ(runtime.executing.back().second, execs[64]);
}

TEST_F(SandboxQueueTest, lets_commands_wait_for_the_create_of_their_sandbox) {
    const auto box = sandbox();
    give_create(box);
    const auto exec = give_exec(box);
    EXPECT_THAT(runtime.executing, IsEmpty());

    runtime.end_create(box);
    settle();
    EXPECT_THAT(runtime.executing, ElementsAre(std::pair(box, exec)));
}

// The controller is away: results wait for it, and hold nobody up.
TEST_F(SandboxQueueTest, frees_the_place_before_the_report_is_taken) {
    queue.set_limits({.creates = 1});
    inbox.away = true;
    const auto first = sandbox(), second = sandbox();
    give_create(first);
    give_create(second);
    runtime.end_create(first);
    settle();

    EXPECT_THAT(runtime.creating, ElementsAre(second));
    EXPECT_THAT(queue.in_flight(), SizeIs(2));
    inbox.come_back();
    settle();
    EXPECT_THAT(queue.in_flight(), SizeIs(1));
}

// A full sandbox and a full node: the delete is at the runtime at once, and ends everything the sandbox had in hand.
// The delete follows so closely that the create has not reached the runtime: it never does.
// A create that ends after the runtime has looked may have made something: it is removed too before the report.
// The same assignment again is ignored, except that its report must carry the newest attempt.
TEST_F(SandboxQueueTest, ignores_what_is_in_hand_but_for_its_attempt) {
    const auto box = sandbox();
    auto exec = give(box, domain::ExecWork{});
    exec.attempt = 3;
    EXPECT_FALSE(queue.accept(exec));
    settle();
    EXPECT_THAT(runtime.executing, SizeIs(1));
    EXPECT_EQ(queue.in_flight().front().attempt, 3);

    runtime.end_exec(exec.operation_id);
    settle();
    ASSERT_THAT(inbox.reports, SizeIs(1));
    EXPECT_EQ(inbox.reports.front().attempt, 3);
}

// However it comes that a controller gives a command out that has run here: it does not run again.
TEST_F(SandboxQueueTest, runs_no_command_twice) {
    auto exec = give(sandbox(), domain::ExecWork{});
    runtime.end_exec(exec.operation_id);
    settle();
    ASSERT_THAT(inbox.reports, SizeIs(1));

    exec.attempt = 2;
    EXPECT_TRUE(queue.accept(exec));
    settle();

    EXPECT_THAT(runtime.executing, IsEmpty());
    ASSERT_THAT(inbox.reports, SizeIs(2));
    EXPECT_EQ(inbox.reports[1].attempt, 2);
    EXPECT_FALSE(inbox.reports[1].success);
    EXPECT_EQ(inbox.reports[1].error, "interrupted");
    EXPECT_EQ(inbox.reports[1].output->exit_code, 137);
    EXPECT_THAT(queue.in_flight(), IsEmpty());
}

TEST_F(SandboxQueueTest, refuses_tunnels) {
    const auto expose = give(sandbox(), domain::ExposeWork{}).operation_id;
    EXPECT_EQ(report_of(expose).error, "this worker does not serve tunnels");
    EXPECT_EQ(report_of(expose).sandbox_state, SandboxState::running);
}

TEST_F(SandboxQueueTest, shows_a_pull_at_once) {
    std::vector<std::string> seen;
    queue.on_phase = [&] { seen.push_back(queue.in_flight().front().phase); };
    runtime.phase = "pulling image";
    give_create(sandbox());
    EXPECT_THAT(seen, ElementsAre("pulling image"));
}

TEST_F(SandboxQueueTest, says_that_a_start_up_command_was_started) {
    const auto box = sandbox();
    domain::CreateWork work;
    work.spec.command = {"serve"};
    const auto create = give(box, work).operation_id;
    runtime.end_create(box);
    settle();
    EXPECT_TRUE(report_of(create).startup->running);
}

TEST_F(SandboxQueueTest, counts_what_it_can_take) {
    queue.set_limits({.jobs = 2, .input_bytes = 10});
    EXPECT_EQ(queue.room(), 2);
    const auto box = sandbox();
    domain::ExecWork with_input;
    with_input.command.stdin_bytes = std::string(10, 'x');
    const auto exec = give(box, with_input).operation_id;
    EXPECT_EQ(queue.room(), 0);

    runtime.end_exec(exec);
    settle();
    EXPECT_EQ(queue.room(), 2);
}

// Stopping: what has not begun goes back, what has is awaited, nothing begins.
// After a restart the runtime tells what there is; one listing may be older than a create that has just ended.
TEST_F(SandboxQueueTest, sums_up_what_its_sandboxes_hold) {
    const auto mine = sandbox(), found = sandbox();
    domain::CreateWork work;
    work.spec.resources = {10, 20, 30, 40};
    give(mine, work);
    runtime.end_create(mine);
    settle();
    domain::InventoryItem item;
    item.sandbox_id = found;
    item.resources = domain::Resources{1, 2, 3, 4};

    queue.take_inventory({item});
    EXPECT_EQ(queue.held(), (domain::Resources{11, 22, 33, 44}));
    EXPECT_EQ(queue.sandboxes(), 2);
    queue.take_inventory({item});
    EXPECT_EQ(queue.held(), (domain::Resources{1, 2, 3, 4}));
}

}  // namespace
}  // namespace sandbox::sandboxd
