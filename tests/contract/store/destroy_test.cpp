#include <algorithm>

#include "store_contract.hpp"

namespace sandbox::store::contract {

// The way of a running sandbox to stopped, with its room given back at the end.
TEST_P(StoreContract, deleting_a_running_sandbox_tears_it_down) {
    const auto node = register_node();
    const auto id = running_sandbox();
    events();

    const auto deletion = destroy(id);

    EXPECT_FALSE(deletion.finished);
    EXPECT_EQ(deletion.operation.kind, OperationKind::destroy);
    EXPECT_EQ(deletion.operation.state, OperationState::pending);
    EXPECT_EQ(state(id), SandboxState::stopping);
    EXPECT_EQ(capacity(node).running_sandboxes, 1);

    complete(success_of(lease_one(node)));

    EXPECT_EQ(state(id), SandboxState::stopped);
    EXPECT_EQ(sandbox(id).failure, std::nullopt);
    EXPECT_EQ(operation(deletion.operation.id).state, OperationState::succeeded);
    EXPECT_EQ(available(node), capacity(node).total);
    EXPECT_EQ(event_types(), (std::vector<std::string>{"sandbox.stopping", "sandbox.operation_succeeded"}));
}

// Never a second teardown: asked again the answer is the same operation, and when it is done, the finished one.
TEST_P(StoreContract, deleting_again_gives_the_same_operation) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto first = destroy(id);

    const auto second = destroy(id);
    EXPECT_EQ(second.operation.id, first.operation.id);
    EXPECT_FALSE(second.finished);

    complete(success_of(lease_one(node)));
    const auto third = destroy(id);
    EXPECT_EQ(third.operation.id, first.operation.id);
    EXPECT_EQ(third.operation.state, OperationState::succeeded);
    EXPECT_TRUE(third.finished);
    EXPECT_TRUE(lease(node).empty());
    EXPECT_EQ(error(store().destroy({}, {}, in(5s))), Code::not_found);
}

// A create that no worker has seen leaves nothing to tear down: all is done in one step.
TEST_P(StoreContract, deleting_before_the_create_was_given_out_is_done_at_once) {
    const auto node = register_node();
    const auto placed = place();

    const auto deletion = destroy(placed.sandbox.id);

    EXPECT_FALSE(deletion.finished);
    EXPECT_EQ(deletion.operation.state, OperationState::succeeded);
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopped);
    EXPECT_EQ(why_failed(placed.operation.id), "cancelled");
    EXPECT_EQ(available(node), capacity(node).total);
    EXPECT_TRUE(lease(node).empty());
}

// A create that was handed back, or whose lease ran out, may have left something: the teardown goes to the worker.
TEST_P(StoreContract, deleting_while_the_create_waits_again_leaves_only_the_teardown) {
    const auto node = register_node();
    const auto placed = place();
    lease_one(node);
    advance(31s);
    EXPECT_EQ(sweep().releases, 1U);

    const auto deletion = destroy(placed.sandbox.id);

    EXPECT_EQ(why_failed(placed.operation.id), "cancelled");
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopping);
    const auto given = lease(node);
    ASSERT_EQ(given.size(), 1U);
    EXPECT_EQ(given[0].operation_id, deletion.operation.id);
    complete(success_of(given[0]));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopped);
}

// Nothing waits for a create that takes long: the teardown is given out beside it, and what the create reports later
// revives nothing.
TEST_P(StoreContract, deleting_while_the_create_runs) {
    const auto node = register_node();
    const auto placed = place();
    const auto create = lease_one(node);

    destroy(placed.sandbox.id);
    const auto teardown = lease_one(node);
    complete(success_of(create));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopping);
    EXPECT_EQ(operation(placed.operation.id).state, OperationState::succeeded);

    complete(success_of(teardown));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopped);
}

TEST_P(StoreContract, a_create_that_fails_while_it_is_deleted_goes_on_to_stopped) {
    const auto node = register_node();
    const auto placed = place();
    const auto create = lease_one(node);
    destroy(placed.sandbox.id);
    const auto teardown = lease_one(node);

    complete(failure_of(create, "pull interrupted"));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopping);

    complete(success_of(teardown));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopped);
    EXPECT_EQ(sandbox(placed.sandbox.id).failure, std::nullopt);
    EXPECT_EQ(available(node), capacity(node).total);
}

TEST_P(StoreContract, a_create_still_running_when_the_teardown_is_done_ends_with_it) {
    const auto node = register_node();
    const auto placed = place();
    const auto create = lease_one(node);
    destroy(placed.sandbox.id);

    complete(success_of(lease_one(node)));

    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopped);
    EXPECT_EQ(why_failed(placed.operation.id), "cancelled");
    complete(success_of(create));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopped);
}

// A create whose worker is gone or gives it back is not given out again once its sandbox is to go.
TEST_P(StoreContract, the_create_of_a_sandbox_that_is_deleted_is_not_repeated) {
    const auto node = register_node();
    const auto handed_back = place();
    const auto run_out = place();
    const auto restarted = place();
    const auto creates = lease(node);
    for (const auto& placed : {handed_back, run_out, restarted}) destroy(placed.sandbox.id);

    value(store().release({creates[0].id}, in(5s)));
    advance(20s);
    beat(node, {in_flight(creates[2])});
    advance(11s);
    sweep();
    restart(node);

    for (const auto& placed : {handed_back, run_out, restarted}) {
        EXPECT_EQ(why_failed(placed.operation.id), "cancelled");
        EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopping);
    }
    EXPECT_TRUE(std::ranges::all_of(lease(node), [](const domain::Assignment& assignment) {
        return kind_of(assignment.kind) == OperationKind::destroy;
    }));
}

// A long exec is no hindrance: the worker is told to kill it, what waits fails at once, and at the latest the end of
// the teardown ends it.
TEST_P(StoreContract, deleting_while_execs_run_cancels_them) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto killed = exec(id);
    const auto forgotten = exec(id);
    const auto assignments = lease(node);
    const auto waiting = exec(id);

    destroy(id);

    EXPECT_EQ(why_failed(waiting.id), "cancelled");
    EXPECT_EQ(operation(waiting.id).output->exit_code, 137);
    const auto told = value(store().lease(node, 100, at_once()));
    EXPECT_EQ(told.cancel, (std::vector{killed.id, forgotten.id}));
    ASSERT_EQ(told.assignments.size(), 1U);
    EXPECT_EQ(beat(node).cancel, told.cancel);

    complete(exit_of(assignments[0], 137));
    EXPECT_EQ(why_failed(killed.id), "cancelled");
    complete(success_of(told.assignments[0]));
    EXPECT_EQ(why_failed(forgotten.id), "cancelled");
    EXPECT_EQ(operation(forgotten.id).output->exit_code, 137);
    EXPECT_EQ(state(id), SandboxState::stopped);
    EXPECT_EQ(sandbox(id).failure, std::nullopt);
    EXPECT_TRUE(beat(node).cancel.empty());
}

// A failed sandbox can be deleted, for what its node may still hold; while that goes on it counts as live again.
TEST_P(StoreContract, deleting_a_failed_sandbox) {
    const auto node = register_node();
    const auto placed = place();
    complete(failure_of(lease_one(node), "no such image"));

    const auto deletion = destroy(placed.sandbox.id);

    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopping);
    EXPECT_EQ(destroy(placed.sandbox.id).operation.id, deletion.operation.id);
    EXPECT_EQ(capacity(node).running_sandboxes, 1);
    complete(success_of(lease_one(node)));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::stopped);
    EXPECT_EQ(capacity(node).running_sandboxes, 0);
    EXPECT_EQ(available(node), capacity(node).total);
}

// A teardown that fails leaves a failed sandbox, which can be deleted again: by a new operation.
TEST_P(StoreContract, a_failed_teardown_can_be_repeated) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto busy = exec(id);
    lease_one(node);
    const auto first = destroy(id);

    complete(failure_of(lease_one(node), "engine: device busy"));
    EXPECT_EQ(state(id), SandboxState::failed);
    EXPECT_EQ(sandbox(id).failure, "engine: device busy");
    EXPECT_EQ(why_failed(busy.id), "cancelled");
    EXPECT_EQ(available(node), capacity(node).total);

    const auto second = destroy(id);
    EXPECT_NE(second.operation.id, first.operation.id);
    complete(success_of(lease_one(node)));
    EXPECT_EQ(state(id), SandboxState::stopped);
}

// --- cancel

// What no worker has begun fails at once.
TEST_P(StoreContract, cancelling_a_pending_exec) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto pending = exec(id);

    const auto cancelled = value(store().cancel(pending.id, {}, in(5s)));

    EXPECT_EQ(cancelled.state, OperationState::failed);
    EXPECT_EQ(cancelled.error, "cancelled");
    EXPECT_EQ(cancelled.output->exit_code, 137);
    EXPECT_TRUE(lease(node).empty());
    EXPECT_EQ(sandbox(id).failure, std::nullopt);
    EXPECT_EQ(value(store().cancel(pending.id, {}, in(5s))).error, "cancelled");
    EXPECT_EQ(error(store().cancel({}, {}, in(5s))), Code::not_found);
}

TEST_P(StoreContract, cancelling_a_pending_create_fails_the_sandbox) {
    const auto node = register_node();
    const auto placed = place();

    EXPECT_EQ(value(store().cancel(placed.operation.id, {}, in(5s))).error, "cancelled");

    EXPECT_EQ(state(placed.sandbox.id), SandboxState::failed);
    EXPECT_EQ(sandbox(placed.sandbox.id).failure, "cancelled");
    EXPECT_EQ(available(node), capacity(node).total);
    EXPECT_TRUE(lease(node).empty());
}

// There is no way back from stopping: the sandbox waits to be deleted again, or for its expiry.
TEST_P(StoreContract, cancelling_a_pending_teardown) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto first = destroy(id).operation;

    EXPECT_EQ(value(store().cancel(first.id, {}, in(5s))).error, "cancelled");
    EXPECT_EQ(state(id), SandboxState::stopping);
    EXPECT_TRUE(lease(node).empty());

    live_through(3601s, {node});
    const auto second = lease_one(node);
    EXPECT_NE(second.operation_id, first.id);
    complete(success_of(second));
    EXPECT_EQ(state(id), SandboxState::stopped);
}

// A running exec is killed by its worker: told at once through the lease that waits, and again by each heartbeat.
TEST_P(StoreContract, cancelling_a_running_exec_tells_the_worker) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto running = exec(id);
    const auto assignment = lease_one(node);
    const auto waiting = start(store().lease(node, 8, in(60s)));

    EXPECT_EQ(value(store().cancel(running.id, {}, in(5s))).state, OperationState::running);

    const auto told = end_of(waiting);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->cancel, std::vector{running.id});
    EXPECT_TRUE(told_to_cancel(node).empty());
    EXPECT_EQ(beat(node, {in_flight(assignment)}).cancel, std::vector{running.id});

    complete(exit_of(assignment, 137, "so far"));
    EXPECT_EQ(why_failed(running.id), "cancelled");
    EXPECT_EQ(operation(running.id).output->exit_code, 137);
    EXPECT_EQ(operation(running.id).output->stdout_text, "so far");
    EXPECT_TRUE(beat(node).cancel.empty());
}

// A command that was faster than its cancel has its own result.
TEST_P(StoreContract, a_cancel_that_comes_too_late_changes_nothing) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto good = exec(id);
    const auto bad = exec(id);
    const auto assignments = lease(node);
    value(store().cancel(good.id, {}, in(5s)));
    value(store().cancel(bad.id, {}, in(5s)));

    complete(exit_of(assignments[0], 0));
    complete(exit_of(assignments[1], 3));

    EXPECT_TRUE(told_to_cancel(node).empty());
    EXPECT_EQ(operation(good.id).state, OperationState::succeeded);
    EXPECT_EQ(why_failed(bad.id), "command exited with status 3");
    EXPECT_EQ(value(store().cancel(good.id, {}, in(5s))).state, OperationState::succeeded);
}

// A cancelled exec that its worker never began, or lost with its process, is cancelled and not run again.
TEST_P(StoreContract, a_cancelled_exec_that_comes_back_is_cancelled) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto handed_back = exec(id);
    const auto lost = exec(id);
    const auto assignments = lease(node);
    value(store().cancel(handed_back.id, {}, in(5s)));
    value(store().cancel(lost.id, {}, in(5s)));

    value(store().release({assignments[0].id}, in(5s)));
    restart(node);

    EXPECT_EQ(why_failed(handed_back.id), "cancelled");
    EXPECT_EQ(why_failed(lost.id), "cancelled");
    EXPECT_TRUE(lease(node).empty());
}

// Nothing else that runs can be cancelled, nor can an exec where the worker does not know how.
TEST_P(StoreContract, what_cannot_be_cancelled_is_refused) {
    const auto node = register_node();
    const auto create = place().operation;
    lease_one(node);
    EXPECT_EQ(error(store().cancel(create.id, {}, in(5s))), Code::conflict);

    value(store().drain(node, true, {}, in(5s)));
    const auto older = register_older_worker();
    const auto running = exec(running_sandbox());
    lease_one(older);
    EXPECT_EQ(error(store().cancel(running.id, {}, in(5s))), Code::conflict);
}

}  // namespace sandbox::store::contract
