#include <algorithm>
#include <support/run_task.hpp>
#include <worker/sandbox_queue.hpp>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_runtime.hpp"

namespace sandbox::sandboxd {
namespace {

using domain::SandboxState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A controller that takes every report at once, or not until told.
class Inbox final : public Reporter {
public:
    std::vector<domain::Completion> reports;
    bool away = false;

    Task<void> report(JobPtr job, domain::Completion completion) override {
        while (away) co_await back_.wait(Deadline::max());
        completion.attempt = job->assignment.attempt;
        reports.push_back(std::move(completion));
    }
    void come_back() {
        away = false;
        back_.notify_all();
    }

private:
    async::Signal back_;
};

class SandboxQueueTest : public testing::Test {
protected:
    SandboxQueueTest() : queue(io.get_executor(), runtime, inbox) {}
    ~SandboxQueueTest() override { io.stop(); }

    template <class Id>
    Id id() {
        Id made;
        made.uuid.bytes[15] = ++last_id_;
        made.uuid.bytes[14] = static_cast<std::uint8_t>(last_id_ == 0 ? ++high_ : high_);
        return made;
    }
    domain::SandboxId sandbox() { return id<domain::SandboxId>(); }

    domain::Assignment assignment(domain::SandboxId of, domain::Work work) {
        domain::Assignment made;
        made.id = id<domain::AssignmentId>();
        made.operation_id = id<domain::OperationId>();
        made.sandbox_id = of;
        made.kind = std::move(work);
        made.attempt = 1;
        return made;
    }
    domain::Assignment give(domain::SandboxId of, domain::Work work) {
        auto made = assignment(of, std::move(work));
        EXPECT_TRUE(queue.accept(made));
        settle();
        return made;
    }
    domain::Assignment give_create(domain::SandboxId of) { return give(of, domain::CreateWork{}); }
    domain::OperationId give_exec(domain::SandboxId of) { return give(of, domain::ExecWork{}).operation_id; }
    domain::Assignment give_delete(domain::SandboxId of) { return give(of, domain::DeleteWork{}); }

    void settle() { test::settle(io); }
    const domain::Completion& report_of(domain::OperationId operation) {
        for (const auto& report : inbox.reports)
            if (report.operation_id == operation) return report;
        throw std::logic_error("nothing was reported of this operation");
    }

    asio::io_context io{1};
    HandRuntime runtime;
    Inbox inbox;
    SandboxQueue queue;

private:
    std::uint8_t last_id_ = 0;
    std::uint8_t high_ = 0;
};

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

// The delete follows so closely that the create has not reached the runtime: it never does.
TEST_F(SandboxQueueTest, does_not_begin_a_create_after_its_delete) {
    const auto box = sandbox();
    queue.accept(assignment(box, domain::CreateWork{}));
    queue.accept(assignment(box, domain::DeleteWork{}));
    settle();

    EXPECT_THAT(runtime.creating, IsEmpty());
    EXPECT_THAT(runtime.destroyed, SizeIs(testing::Ge(1)));
    EXPECT_THAT(inbox.reports, SizeIs(2));
}

// A create that ends after the runtime has looked may have made something: it is removed too before the report.
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
