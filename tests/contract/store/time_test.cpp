// What time brings: expiry, lost nodes, and the answers of before.
#include <algorithm>

#include "store_contract.hpp"

namespace sandbox::store::contract {

// A sandbox whose time is up is torn down as if it had been deleted.
TEST_P(StoreContract, a_sandbox_expires_at_its_time) {
    const auto node = register_node();
    auto spec = small_sandbox();
    spec.ttl_seconds = 60;
    const auto id = running_sandbox(spec);
    events();

    advance(59s);
    EXPECT_EQ(sweep().expired, 0U);
    EXPECT_EQ(state(id), SandboxState::running);
    advance(1s);
    EXPECT_EQ(sweep().expired, 1U);

    EXPECT_EQ(state(id), SandboxState::stopping);
    EXPECT_EQ(event_types(), (std::vector<std::string>{"sandbox.expired", "sandbox.stopping"}));
    EXPECT_EQ(sweep().expired, 0U);
    complete(success_of(lease_one(node)));
    EXPECT_EQ(state(id), SandboxState::stopped);
}

// The time is up for a sandbox of a silent node too, and for one that is not running yet.
TEST_P(StoreContract, expiry_does_not_wait_for_the_node) {
    register_node();
    auto spec = small_sandbox();
    spec.ttl_seconds = 60;
    const auto running = running_sandbox(spec);
    const auto scheduled = place(spec).sandbox.id;

    live_through(61s);

    EXPECT_EQ(state(running), SandboxState::stopping);
    EXPECT_EQ(state(scheduled), SandboxState::stopped);
}

// Extending moves the end to the later of the two, within what the deployment allows.
TEST_P(StoreContract, extending_moves_the_expiry) {
    settings.max_ttl_seconds = 7200;
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto end = sandbox(id).expires_at;
    advance(60s);

    EXPECT_EQ(value(store().extend(id, 60, {}, in(5s))).expires_at, end);
    EXPECT_EQ(value(store().extend(id, 7200, {}, in(5s))).expires_at, now() + 7200s);
    EXPECT_EQ(error(store().extend(id, 7201, {}, in(5s))), Code::invalid_argument);
    EXPECT_EQ(error(store().extend({}, 60, {}, in(5s))), Code::not_found);

    live_through(7190s, {node});
    EXPECT_EQ(state(id), SandboxState::running);
    live_through(10s, {node});
    EXPECT_EQ(state(id), SandboxState::stopping);
    EXPECT_EQ(error(store().extend(id, 60, {}, in(5s))), Code::conflict);
}

// A node that is silent for too long is lost: what it held has failed, and its room is nobody's.
TEST_P(StoreContract, what_a_lost_node_held_has_failed) {
    settings.node_lost = 300s;
    const auto node = register_node();
    const auto running = running_sandbox();
    const auto busy = exec(running);
    lease_one(node);
    const auto stopping = running_sandbox();
    const auto scheduled = place();
    const auto teardown = destroy(stopping).operation;
    events();

    live_through(300s);
    EXPECT_EQ(state(running), SandboxState::running);
    live_through(10s);

    EXPECT_EQ(state(running), SandboxState::failed);
    EXPECT_EQ(sandbox(running).failure, "node lost");
    EXPECT_EQ(why_failed(busy.id), "node lost");
    EXPECT_EQ(operation(busy.id).output->exit_code, 137);
    EXPECT_EQ(why_failed(scheduled.operation.id), "node lost");
    EXPECT_EQ(state(stopping), SandboxState::stopped);
    EXPECT_EQ(operation(teardown.id).state, OperationState::succeeded);
    EXPECT_EQ(capacity(node).running_sandboxes, 0);
    EXPECT_EQ(std::ranges::count(event_types(), "sandbox.lost"), 2);
    EXPECT_TRUE(lease(node).empty());
}

// Nobody can tear down what is on a lost node, so deleting it is done at once.
TEST_P(StoreContract, deleting_a_sandbox_of_a_lost_node_is_done_at_once) {
    const auto node = register_node();
    const auto id = running_sandbox();
    live_through(310s);
    EXPECT_EQ(state(id), SandboxState::failed);

    const auto deletion = destroy(id);

    EXPECT_EQ(deletion.operation.state, OperationState::succeeded);
    EXPECT_EQ(state(id), SandboxState::stopped);
    EXPECT_TRUE(destroy(id).finished);
    EXPECT_EQ(available(node), capacity(node).total);
}

// When a lost node comes back, its inventory shows what to remove, and it takes new work.
TEST_P(StoreContract, a_lost_node_that_comes_back_is_settled_by_its_inventory) {
    const auto node = register_node();
    const auto failed = running_sandbox();
    const auto deleted = running_sandbox();
    const auto late = exec(failed);
    const auto assignment = lease_one(node);
    live_through(310s);
    destroy(deleted);

    EXPECT_EQ(beat_holding(node, {runs(failed), runs(deleted)}).remove, (std::vector{failed, deleted}));

    complete(exit_of(assignment, 0));
    EXPECT_EQ(why_failed(late.id), "node lost");
    EXPECT_EQ(state(failed), SandboxState::failed);
    running_sandbox();
    live_through(310s);
    EXPECT_EQ(capacity(node).running_sandboxes, 0);
}

// An older worker has no inventory: what it may still hold is deleted by assignments.
TEST_P(StoreContract, a_lost_older_worker_that_comes_back_gets_deletes) {
    const auto node = register_older_worker();
    const auto failed = running_sandbox();
    const auto deleted = running_sandbox();
    live_through(310s);
    destroy(deleted);

    value(store().heartbeat(node, report_of(node), in(5s)));

    const auto deletes = lease(node);
    ASSERT_EQ(deletes.size(), 2U);
    EXPECT_EQ(destroy(failed).operation.state, OperationState::running);
    for (const auto& assignment : deletes) complete(success_of(assignment));
    EXPECT_EQ(state(failed), SandboxState::stopped);
    EXPECT_EQ(state(deleted), SandboxState::stopped);
    EXPECT_EQ(available(node), capacity(node).total);
}

// A controller that was away itself, its machine asleep say, does not take its own absence for the nodes'.
TEST_P(StoreContract, an_absence_of_the_controller_loses_no_node) {
    const auto node = register_node();
    auto spec = small_sandbox();
    spec.ttl_seconds = 86400;
    const auto id = running_sandbox(spec);
    sweep();

    advance(3600s);

    EXPECT_EQ(sweep().lost_nodes, 0U);
    beat(node);
    live_through(300s, {node});
    EXPECT_EQ(state(id), SandboxState::running);
    live_through(310s);
    EXPECT_EQ(state(id), SandboxState::failed);
}

// --- Idempotency-Key

// Twenty at once with one key: one sandbox, twenty equal answers.
TEST_P(StoreContract, one_key_places_one_sandbox) {
    const auto node = register_node();

    const auto results =
        all(20, [&] { return store().place(small_sandbox(), Idempotency{"key", "POST /v1/sandboxes a"}, in(5s)); });

    for (const auto& result : results) {
        ASSERT_TRUE(result);
        EXPECT_EQ(result->sandbox.id, results[0]->sandbox.id);
        EXPECT_EQ(result->operation.id, results[0]->operation.id);
    }
    EXPECT_EQ(capacity(node).running_sandboxes, 1);
}

// The replay is the first answer as it was, whatever has happened since; for a day.
TEST_P(StoreContract, a_replay_is_the_first_answer_as_it_was) {
    const auto node = register_node();
    const auto once = Idempotency{"key", "a"};
    auto spec = small_sandbox();
    spec.ttl_seconds = 30;
    const auto first = value(store().place(spec, once, in(5s)));
    complete(success_of(lease_one(node)));

    advance(24h - 1s);
    const auto again = value(store().place(spec, once, in(5s)));
    EXPECT_EQ(again.sandbox.id, first.sandbox.id);
    EXPECT_EQ(again.sandbox.state, SandboxState::scheduled);
    EXPECT_EQ(again.operation.state, OperationState::pending);

    advance(1s);
    beat(node);
    EXPECT_NE(value(store().place(spec, once, in(5s))).sandbox.id, first.sandbox.id);
}

// A key is for one request.
TEST_P(StoreContract, a_key_with_another_request_is_a_conflict) {
    const auto node = register_node();
    const auto id = running_sandbox();
    value(store().exec(id, command({"true"}), Idempotency{"key", "a"}, in(5s)));

    EXPECT_EQ(error(store().exec(id, command({"false"}), Idempotency{"key", "b"}, in(5s))), Code::conflict);
    EXPECT_EQ(error(store().place(small_sandbox(), Idempotency{"key", "c"}, in(5s))), Code::conflict);
    EXPECT_EQ(lease(node).size(), 1U);
}

// A refusal is not kept: the same request may have more luck later.
TEST_P(StoreContract, a_refusal_is_not_kept_under_its_key) {
    const auto once = Idempotency{"key", "a"};
    EXPECT_EQ(error(store().place(small_sandbox(), once, in(5s))), Code::resource_exhausted);

    register_node();

    EXPECT_EQ(error(store().place(small_sandbox(), once, in(5s))), std::nullopt);
}

// Every operator's verb takes a key.
TEST_P(StoreContract, each_verb_replays_its_answer) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto exec_once = [&] { return store().exec(id, command({"true"}), Idempotency{"exec", "a"}, in(5s)); };
    EXPECT_EQ(value(exec_once()).id, value(exec_once()).id);
    EXPECT_EQ(lease(node).size(), 1U);

    const auto extend = [&] { return store().extend(id, 7200, Idempotency{"extend", "a"}, in(5s)); };
    const auto extended = value(extend()).expires_at;
    advance(10s);
    EXPECT_EQ(value(extend()).expires_at, extended);

    const auto drain = [&] { return store().drain(node, true, Idempotency{"drain", "a"}, in(5s)); };
    value(drain());
    value(store().drain(node, false, {}, in(5s)));
    EXPECT_TRUE(value(drain()).draining);
    EXPECT_FALSE(value(store().node(node, in(5s))).draining);

    const auto cancelled = exec(id);
    const auto cancel = [&] { return store().cancel(cancelled.id, Idempotency{"cancel", "a"}, in(5s)); };
    EXPECT_EQ(value(cancel()).updated_at, value(cancel()).updated_at);

    const auto destroy_once = [&] { return store().destroy(id, Idempotency{"delete", "a"}, in(5s)); };
    const auto deletion = value(destroy_once());
    complete(success_of(lease_one(node)));
    EXPECT_EQ(value(destroy_once()).operation.state, deletion.operation.state);
}

}  // namespace sandbox::store::contract
