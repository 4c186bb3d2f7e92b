#include <algorithm>

#include "store_contract.hpp"

namespace sandbox::store::contract {

// A lease hands out each assignment once, oldest first, under an attempt and until a time.
TEST_P(StoreContract, a_lease_takes_pending_work_once) {
    const auto node = register_node();
    const auto first = place();
    const auto second = place();

    const auto one = lease(node, 1);
    const auto rest = lease(node);

    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].operation_id, first.operation.id);
    EXPECT_EQ(one[0].attempt, 1);
    EXPECT_EQ(one[0].lease_until, now() + settings.lease);
    EXPECT_EQ(one[0].state, domain::AssignmentState::leased);
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0].operation_id, second.operation.id);
    EXPECT_TRUE(lease(node).empty());
    EXPECT_EQ(state(first.sandbox.id), SandboxState::creating);
    EXPECT_EQ(operation(first.operation.id).state, OperationState::running);
    EXPECT_EQ(operation(first.operation.id).started_at, now());
}

// A delete waits for no number of other sandboxes' commands.
TEST_P(StoreContract, a_delete_is_given_before_what_others_wait_for) {
    const auto node = register_node();
    const auto busy = running_sandbox();
    const auto other = running_sandbox();
    for (int i = 0; i < 3; ++i) exec(busy);
    const auto deletion = value(store().destroy(other, {}, in(5s)));

    const auto given = lease(node, 1);

    ASSERT_EQ(given.size(), 1U);
    EXPECT_EQ(given[0].operation_id, deletion.operation.id);
}

// A worker that waits for work gets it when it comes, not at the end of its wait.
TEST_P(StoreContract, waiting_for_work_ends_with_the_work) {
    const auto node = register_node();
    const auto waiting = start(store().lease(node, 8, in(60s)));
    EXPECT_FALSE(waiting.done());

    const auto placed = place();

    const auto leased = end_of(waiting);
    ASSERT_TRUE(leased);
    ASSERT_EQ(leased->assignments.size(), 1U);
    EXPECT_EQ(leased->assignments[0].operation_id, placed.operation.id);
}

// A worker that asks again has lost its former call: work that is given to that one would reach nobody.
TEST_P(StoreContract, work_goes_to_the_newest_wait_of_a_node) {
    const auto node = register_node();
    const auto former = start(store().lease(node, 8, in(60s)));
    const auto newer = start(store().lease(node, 8, in(60s)));

    place();

    const auto leased = end_of(newer);
    ASSERT_TRUE(leased);
    EXPECT_EQ(leased->assignments.size(), 1U);
    EXPECT_FALSE(former.done());
}

// Nor does a wait of the former process take what is for the new one.
TEST_P(StoreContract, work_does_not_go_to_a_wait_of_a_former_incarnation) {
    const auto node = register_node();
    const auto former = start(store().lease(node, 8, in(60s)));
    restart(node);

    place();

    EXPECT_FALSE(former.done());
    EXPECT_EQ(lease(node).size(), 1U);
}

// A controller that stops holds nobody, and gives out no work whose worker it could not hear any more.
TEST_P(StoreContract, stopping_ends_all_waits_and_gives_nothing_out) {
    const auto idle = register_node();
    const auto for_work = start(store().lease(idle, 8, in(60s)));
    const auto placed = place();
    ASSERT_EQ(end_of(for_work)->assignments.size(), 1U);
    const auto for_more = start(store().lease(idle, 8, in(60s)));
    const auto for_the_end = start(store().wait_operation(placed.operation.id, in(60s)));

    store().stop_waiting();

    EXPECT_TRUE(end_of(for_more)->assignments.empty());
    EXPECT_EQ(end_of(for_the_end)->state, OperationState::running);
    const auto later = place();
    EXPECT_TRUE(value(store().lease(idle, 8, in(60s))).assignments.empty());
    EXPECT_EQ(value(store().wait_operation(later.operation.id, in(60s))).state, OperationState::pending);
}

TEST_P(StoreContract, leasing_wants_a_known_node_and_work_of_its_own) {
    const auto busy = register_node();
    place();
    const auto idle = register_node();

    EXPECT_TRUE(lease(idle).empty());
    EXPECT_EQ(lease(busy).size(), 1U);
    EXPECT_EQ(error(store().lease({}, 8, at_once())), Code::not_found);
}

// The heartbeat renews what is in flight and says how far it is; what it leaves out runs out.
TEST_P(StoreContract, a_heartbeat_renews_what_is_in_flight) {
    const auto node = register_node();
    const auto renewed = place();
    const auto dropped = place();
    const auto assignments = lease(node);

    advance(20s);
    beat(node, {in_flight(assignments[0], "pulling image")});
    EXPECT_EQ(operation(renewed.operation.id).phase, "pulling image");
    advance(20s);
    EXPECT_EQ(sweep().releases, 1U);

    const auto again = lease(node);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].operation_id, dropped.operation.id);
    EXPECT_EQ(again[0].attempt, 2);
}

// Only the attempt that is current renews: a worker that lost its lease can't keep it from the next.
TEST_P(StoreContract, a_former_attempt_renews_nothing) {
    const auto node = register_node();
    place();
    const auto former = lease_one(node);
    advance(31s);
    sweep();
    lease_one(node);

    advance(20s);
    beat(node, {in_flight(former)});
    advance(20s);

    EXPECT_EQ(sweep().releases, 1U);
}

// A heartbeat that comes late, but before anybody else was given the work, takes the lease back.
TEST_P(StoreContract, a_late_heartbeat_keeps_what_was_queued_again) {
    const auto node = register_node();
    place();
    const auto assignment = lease_one(node);
    advance(31s);
    EXPECT_EQ(sweep().releases, 1U);

    beat(node, {in_flight(assignment)});

    EXPECT_TRUE(lease(node).empty());
    complete(success_of(assignment));
    EXPECT_EQ(state(assignment.sandbox_id), SandboxState::running);
}

// A command is never run twice by itself: when its lease runs out it is neither failed nor given to anyone.
TEST_P(StoreContract, an_exec_whose_lease_ran_out_ends_by_its_report) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto started = exec(id);
    const auto assignment = lease_one(node);

    live_through(120s, {node});

    EXPECT_EQ(operation(started.id).state, OperationState::running);
    EXPECT_TRUE(lease(node).empty());
    complete(exit_of(assignment, 0, "done"));
    EXPECT_EQ(operation(started.id).state, OperationState::succeeded);
    EXPECT_EQ(operation(started.id).output->stdout_text, "done");
}

// A controller that ends between the lease and its answer: a worker that lists all it has in hand never had the
// command.
TEST_P(StoreContract, an_exec_that_never_reached_its_worker_is_given_out_again) {
    const auto node = register_node({.features = {"stdin", "cancel", "inventory", "in_flight"}});
    const auto id = running_sandbox();
    const auto lost = exec(id);
    const auto begun = exec(id);
    const auto given = lease(node);
    ASSERT_EQ(given.size(), 2U);

    advance(20s);
    beat(node, {in_flight(given[1])});
    advance(20s);
    beat(node, {in_flight(given[1])});
    advance(19s);
    beat(node, {in_flight(given[1])});
    // The answer that gives it may be under way for long, and a heartbeat too.
    EXPECT_TRUE(lease(node).empty());
    advance(2s);
    beat(node, {in_flight(given[1])});

    EXPECT_EQ(operation(lost.id).state, OperationState::pending);
    const auto again = lease(node);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].operation_id, lost.id);
    EXPECT_EQ(again[0].attempt, 2);
    complete(exit_of(again[0], 0, "once"));
    complete(exit_of(given[1], 0, "once"));
    for (const auto& done : {lost, begun}) EXPECT_EQ(operation(done.id).output->stdout_text, "once");
}

TEST_P(StoreContract, a_cancelled_exec_that_never_reached_its_worker_ends) {
    const auto node = register_node({.features = {"stdin", "cancel", "inventory", "in_flight"}});
    const auto lost = exec(running_sandbox());
    lease_one(node);
    value(store().cancel(lost.id, {}, in(5s)));

    live_through(90s, {node});

    EXPECT_EQ(operation(lost.id).state, OperationState::failed);
    EXPECT_EQ(operation(lost.id).error, "cancelled");
    EXPECT_TRUE(lease(node).empty());
}

// An older worker names nothing in flight: its heartbeat renews all that it has.
TEST_P(StoreContract, a_heartbeat_of_an_older_worker_renews_all) {
    const auto node = register_older_worker();
    place();
    place();
    EXPECT_EQ(lease(node).size(), 2U);

    for (int i = 0; i < 4; ++i) {
        advance(20s);
        value(store().heartbeat(node, report_of(node), in(5s)));
        EXPECT_EQ(sweep().releases, 0U);
    }
    EXPECT_TRUE(lease(node).empty());
}

// An older worker runs what it is given side by side, so it is given one thing per sandbox at a time.
TEST_P(StoreContract, an_older_worker_gets_one_assignment_per_sandbox) {
    const auto node = register_older_worker();
    const auto id = running_sandbox();
    const auto first = exec(id);
    const auto second = exec(id);

    const auto given = lease(node);
    ASSERT_EQ(given.size(), 1U);
    EXPECT_EQ(given[0].operation_id, first.id);
    EXPECT_TRUE(lease(node).empty());

    complete(exit_of(given[0], 0));
    EXPECT_EQ(lease_one(node).operation_id, second.id);
}

TEST_P(StoreContract, a_newer_worker_gets_all_of_a_sandbox) {
    const auto node = register_node();
    const auto id = running_sandbox();
    exec(id);
    exec(id);

    EXPECT_EQ(lease(node).size(), 2U);
}

// Handed back, an assignment is as if it had not been given, but for its attempt.
TEST_P(StoreContract, released_work_is_given_out_again) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto started = exec(id);
    const auto assignment = lease_one(node);

    value(store().release({assignment.id, domain::AssignmentId{}}, in(5s)));

    EXPECT_EQ(operation(started.id).state, OperationState::pending);
    EXPECT_EQ(operation(started.id).started_at, std::nullopt);
    EXPECT_EQ(operation(started.id).phase, "queued");
    EXPECT_EQ(lease_one(node).attempt, 2);
}

// A worker that starts anew has lost its commands, but can repeat creates and deletes.
TEST_P(StoreContract, a_new_incarnation_interrupts_execs_and_repeats_the_rest) {
    const auto node = register_node();
    const auto busy = running_sandbox();
    const auto going = running_sandbox();
    const auto command_ = exec(busy);
    const auto deletion = destroy(going).operation;
    const auto create = place().operation;
    const auto assignments = lease(node);
    ASSERT_EQ(assignments.size(), 3U);
    const auto queued = exec(busy);

    restart(node);

    EXPECT_EQ(why_failed(command_.id), "interrupted");
    EXPECT_EQ(operation(command_.id).output->exit_code, 137);
    EXPECT_EQ(state(busy), SandboxState::running);
    std::vector<domain::OperationId> again;
    for (const auto& assignment : lease(node)) again.push_back(assignment.operation_id);
    EXPECT_EQ(again, (std::vector{deletion.id, create.id, queued.id}));
    // What the former process still says is too late.
    complete(failure_of(assignments[2], "killed"));
    EXPECT_EQ(operation(create.id).state, OperationState::running);
}

// Registering again with the same incarnation, after a 404 say, disturbs nothing.
TEST_P(StoreContract, registering_again_is_no_restart) {
    auto node = describe({});
    value(store().register_node(node, in(5s)));
    const auto id = running_sandbox();
    const auto started = exec(id);
    lease_one(node.id);

    value(store().register_node(node, in(5s)));

    EXPECT_EQ(operation(started.id).state, OperationState::running);
}

// An older worker has no incarnation: registering is all it does at its start.
TEST_P(StoreContract, an_older_worker_that_registers_again_has_restarted) {
    const auto node = register_older_worker();
    const auto id = running_sandbox();
    const auto started = exec(id);
    const auto create = place().operation;
    EXPECT_EQ(lease(node).size(), 2U);

    register_older_worker(node);

    EXPECT_EQ(why_failed(started.id), "interrupted");
    EXPECT_EQ(lease_one(node).operation_id, create.id);
}

}  // namespace sandbox::store::contract
