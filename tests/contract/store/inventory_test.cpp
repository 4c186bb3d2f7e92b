#include "store_contract.hpp"

namespace sandbox::store::contract {

// A running sandbox that its node does not hold any more is lost: at the second inventory without it, since the first
// may be older than a create that has just ended.
TEST_P(StoreContract, a_sandbox_missing_from_two_inventories_is_lost) {
    const auto node = register_node();
    const auto kept = running_sandbox();
    const auto gone = running_sandbox();
    const auto running = exec(gone);
    lease_one(node);
    const auto pending = exec(gone);
    events();

    beat_holding(node, {runs(kept)});
    EXPECT_EQ(state(gone), SandboxState::running);
    beat_holding(node, {runs(kept)});

    EXPECT_EQ(state(kept), SandboxState::running);
    EXPECT_EQ(state(gone), SandboxState::failed);
    EXPECT_EQ(sandbox(gone).failure, "sandbox lost: its node no longer has it");
    for (const auto& id : {running.id, pending.id}) {
        EXPECT_EQ(operation(id).state, OperationState::failed);
        EXPECT_EQ(operation(id).output->exit_code, 137);
    }
    EXPECT_EQ(events().back(), std::pair(std::string("sandbox.lost"), gone));
    EXPECT_EQ(available(node), capacity(node).total - small_sandbox().resources);
}

// In a row: seen in between, it is not lost.
TEST_P(StoreContract, an_inventory_that_has_the_sandbox_starts_the_count_anew) {
    const auto node = register_node();
    const auto id = running_sandbox();

    for (int i = 0; i < 3; ++i) {
        beat_holding(node, {});
        beat_holding(node, {runs(id)});
    }

    EXPECT_EQ(state(id), SandboxState::running);
}

// What is still being made, or being torn down, is not missed.
TEST_P(StoreContract, creates_and_teardowns_under_way_are_not_lost) {
    const auto node = register_node();
    const auto scheduled = place().sandbox.id;
    const auto creating = place().sandbox.id;
    const auto assignments = lease(node);
    const auto stopping = running_sandbox();
    destroy(stopping);

    for (int i = 0; i < 3; ++i) beat_holding(node, {});

    complete(success_of(assignments[0]));
    EXPECT_EQ(state(scheduled), SandboxState::running);
    EXPECT_EQ(state(creating), SandboxState::creating);
    EXPECT_EQ(state(stopping), SandboxState::stopping);
    beat_holding(node, {});
    EXPECT_EQ(state(scheduled), SandboxState::running);
}

// A sandbox that died by itself has failed at once, with the reason, and its remains are not wanted.
TEST_P(StoreContract, an_exited_sandbox_has_failed_with_its_reason) {
    const auto node = register_node();
    const auto out_of_memory = running_sandbox();
    const auto ended = running_sandbox();
    const auto removed = running_sandbox();
    auto killed = exited(out_of_memory, 137);
    killed.oom_killed = true;

    const auto answer = beat_holding(node, {killed, exited(ended, 2), exited(removed, 137)});

    EXPECT_EQ(state(out_of_memory), SandboxState::failed);
    EXPECT_EQ(sandbox(out_of_memory).failure, "sandbox ended: out of memory");
    EXPECT_EQ(sandbox(ended).failure, "sandbox ended by itself with status 2");
    EXPECT_EQ(sandbox(removed).failure, "sandbox lost: killed or removed from outside");
    EXPECT_EQ(answer.remove, (std::vector{out_of_memory, ended, removed}));
    EXPECT_EQ(available(node), capacity(node).total);
    complete(success_of([&] {
        destroy(ended);
        return lease_one(node);
    }()));
    EXPECT_EQ(state(ended), SandboxState::stopped);
}

// What has ended for the controller is removed wherever it still is.
TEST_P(StoreContract, known_sandboxes_that_have_ended_are_removed_at_once) {
    const auto node = register_node();
    const auto stopped = running_sandbox();
    destroy(stopped);
    complete(success_of(lease_one(node)));
    const auto failed = place().sandbox.id;
    complete(failure_of(lease_one(node), "no such image"));
    const auto stopping = running_sandbox();
    destroy(stopping);

    const auto answer = beat_holding(node, {runs(stopped), runs(failed), runs(stopping)});

    EXPECT_EQ(answer.remove, (std::vector{stopped, failed}));
}

// What the controller has never heard of may belong to a restored backup: it is given time, counted from when it was
// first seen there.
TEST_P(StoreContract, unknown_sandboxes_are_removed_after_the_grace_time) {
    settings.orphan_grace = 60s;
    const auto node = register_node();
    const auto stranger = domain::SandboxId::make(now(), random_);

    EXPECT_TRUE(beat_holding(node, {runs(stranger)}).remove.empty());
    advance(59s);
    EXPECT_TRUE(beat_holding(node, {runs(stranger)}).remove.empty());
    advance(1s);
    EXPECT_EQ(beat_holding(node, {runs(stranger)}).remove, std::vector{stranger});

    beat_holding(node, {});
    EXPECT_TRUE(beat_holding(node, {runs(stranger)}).remove.empty());
}

// A live sandbox is neither kept nor removed on the word of a node that it is not on.
TEST_P(StoreContract, another_nodes_sandbox_is_left_alone) {
    const auto home = register_node();
    const auto id = running_sandbox();
    const auto other = register_node();

    EXPECT_TRUE(beat_holding(other, {exited(id, 1)}).remove.empty());

    EXPECT_EQ(state(id), SandboxState::running);
    EXPECT_EQ(sandbox(id).node_id, home);
}

// The start-up command's news come with the inventory.
TEST_P(StoreContract, the_inventory_tells_how_the_startup_command_fares) {
    const auto node = register_node();
    const auto id = running_sandbox();
    auto item = runs(id);
    item.startup = domain::Startup{.running = false, .exit_code = 1, .tail = "port in use"};

    beat_holding(node, {item});

    EXPECT_EQ(sandbox(id).startup, item.startup);
    beat_holding(node, {runs(id)});
    EXPECT_EQ(sandbox(id).startup, item.startup);
}

TEST_P(StoreContract, a_heartbeat_wants_a_known_node) {
    EXPECT_EQ(error(store().heartbeat({}, {}, in(5s))), Code::not_found);
}

}  // namespace sandbox::store::contract
