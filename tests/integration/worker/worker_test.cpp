// One worker against a controller's desk over real HTTP, with a runtime that runs commands as processes.
#include "worker_fixture.hpp"

namespace sandbox::sandboxd {
namespace {

TEST_F(WorkerTest, registers_with_what_it_is) {
    start_registered();

    ASSERT_THAT(desk->registered, SizeIs(1));
    const auto& node = desk->registered.front();
    EXPECT_EQ(node.name, "worker");
    EXPECT_EQ(node.capacity.total.cpu_millis, 8000);
    EXPECT_EQ(node.supported_tiers, std::vector{domain::Tier::container});
    EXPECT_THAT(node.features, testing::Contains("inventory"));
    EXPECT_EQ(node.runtime->name, "local");
    EXPECT_TRUE(node.incarnation);
    EXPECT_TRUE(node.version);
}

// A whole life: create, command, delete, each reported with the state that the controller expects.
TEST_F(WorkerTest, does_what_it_is_given) {
    start_registered();
    const auto box = id<domain::SandboxId>();
    const auto create = lay_create(box);
    ASSERT_TRUE(reported(create));
    EXPECT_EQ(report_of(create)->sandbox_state, SandboxState::running);

    const auto echo = lay_exec(box, {"echo", "hello"});
    const auto fails = lay_exec(box, {"sh", "-c", "exit 3"});
    ASSERT_TRUE(reported(echo) && reported(fails));
    EXPECT_TRUE(report_of(echo)->success);
    EXPECT_EQ(report_of(echo)->output->stdout_text, "hello\n");
    EXPECT_EQ(report_of(echo)->attempt, 1);
    EXPECT_EQ(report_of(fails)->error, "command exited with status 3");

    const auto destroy = lay(box, domain::DeleteWork{});
    ASSERT_TRUE(reported(destroy));
    EXPECT_EQ(report_of(destroy)->sandbox_state, SandboxState::stopped);
    EXPECT_EQ(runtime.sandboxes(), 0);
}

// No timer is on the way from a lease to its report.
TEST_F(WorkerTest, answers_a_short_command_at_once) {
    start_registered();
    const auto box = make_sandbox();
    milliseconds fastest = seconds(60);
    for (int i = 0; i < 10; ++i) {
        const auto begun = std::chrono::steady_clock::now();
        ASSERT_TRUE(reported(lay_exec(box, {"true"})));
        fastest = std::min(fastest, std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun));
    }
    EXPECT_LT(fastest, milliseconds(240));
}

TEST_F(WorkerTest, waits_for_a_controller_that_is_away) {
    std::string address;
    {
        asio::io_context other{1};
        address = ControllerDesk(other).address();
    }
    client = std::make_unique<client::WorkerClient>(
        io.get_executor(),
        client::Settings{.server = *http::Url::parse("http://" + address), .token = Secret(), .ca_file = std::nullopt});
    WorkerSettings settings;
    settings.node_id = id<domain::NodeId>();
    settings.state_dir = directory.path();
    worker = std::make_unique<Worker>(io.get_executor(), settings, runtime, *client, clock, random);
    worker->start();
    run_for(milliseconds(500));
    EXPECT_FALSE(worker->registered());

    desk.emplace(io, address);
    EXPECT_TRUE(eventually([&] { return worker->registered(); }));
}

// A runtime that gives something else from now on is told at once; one that gives nothing offers nothing.
TEST_F(WorkerTest, registers_anew_when_the_runtime_changes) {
    start_registered();
    runtime.change({}, true);
    ASSERT_TRUE(eventually([&] { return desk->registered.size() == 2; }));
    EXPECT_THAT(desk->registered.back().supported_tiers, IsEmpty());
    runtime.change({domain::Tier::microvm}, true);
    ASSERT_TRUE(eventually([&] { return desk->registered.size() == 3; }));
    EXPECT_THAT(desk->registered.back().supported_tiers, ElementsAre(domain::Tier::microvm));
}

// An empty inventory would say that every sandbox is lost.
TEST_F(WorkerTest, tells_no_inventory_when_the_runtime_has_none) {
    start_registered();
    const auto box = make_sandbox();
    runtime.change({domain::Tier::container}, false);
    ASSERT_TRUE(eventually([&] { return desk->registered.size() == 2; }));
    const auto before = desk->heartbeats.size();
    ASSERT_TRUE(eventually([&] { return desk->heartbeats.size() >= before + 2; }));
    EXPECT_FALSE(desk->heartbeats.back().inventory);
    EXPECT_EQ(desk->heartbeats.back().capacity.running_sandboxes, 1);
    const auto echo = lay_exec(box, {"echo", "still here"});
    ASSERT_TRUE(reported(echo));
    EXPECT_TRUE(report_of(echo)->success);
}

// A sandbox that went while the worker was away misses from two inventories within seconds, whatever the interval.
TEST_F(WorkerTest, looks_twice_when_it_starts) {
    desk.emplace(io);
    desk->heartbeat_interval_seconds = 60;
    start_registered();
    ASSERT_TRUE(eventually([&] { return desk->heartbeats.size() == 2; }, seconds(5)));
    EXPECT_TRUE(desk->heartbeats[0].inventory);
    EXPECT_TRUE(desk->heartbeats[1].inventory);
}

TEST_F(WorkerTest, waits_for_an_engine_that_is_down) {
    runtime.set_down(true);
    start();
    run_for(milliseconds(500));
    EXPECT_THAT(desk->registered, IsEmpty());

    runtime.set_down(false);
    EXPECT_TRUE(eventually([&] { return worker->registered(); }));
}

// The engine goes away: heartbeats go on without an inventory; when it is back, it is looked at again.
TEST_F(WorkerTest, goes_on_while_the_engine_is_down) {
    start_registered();
    runtime.set_down(true);
    const auto create = lay_create(id<domain::SandboxId>());
    ASSERT_TRUE(reported(create));
    EXPECT_EQ(report_of(create)->error, "the engine does not answer");
    ASSERT_TRUE(eventually([&] { return !desk->heartbeats.back().inventory; }));

    runtime.set_down(false);
    EXPECT_TRUE(eventually([&] { return desk->registered.size() == 2; }));
    EXPECT_EQ(desk->registered[0].incarnation, desk->registered[1].incarnation);
    EXPECT_TRUE(desk->heartbeats.back().inventory);
}

TEST_F(WorkerTest, registers_again_when_it_is_not_known) {
    start_registered();
    desk->heartbeat_failures = {404};
    ASSERT_TRUE(eventually([&] { return desk->registered.size() == 2; }));
    EXPECT_EQ(desk->registered[0].incarnation, desk->registered[1].incarnation);
}

// Leases are renewed while the work runs, and the sums tell what is free.
TEST_F(WorkerTest, says_what_it_has_in_hand) {
    start_registered();
    const auto box = make_sandbox();
    const auto exec = lay_exec(box, {"sleep", "30"});
    ASSERT_TRUE(eventually([&] {
        const auto& in_flight = desk->heartbeats.back().in_flight;
        return in_flight && in_flight->size() == 1 && in_flight->front().assignment_id == exec.id;
    }));

    const auto& beat = desk->heartbeats.back();
    EXPECT_EQ(beat.in_flight->front().attempt, 1);
    EXPECT_EQ(beat.in_flight->front().phase, "running");
    ASSERT_THAT(*beat.inventory, SizeIs(1));
    EXPECT_EQ(beat.inventory->front().sandbox_id, box);
    EXPECT_EQ(beat.capacity.available.cpu_millis, 7000);
    EXPECT_EQ(beat.capacity.running_sandboxes, 1);
}

// After a restart the runtime tells what there is before the first registration.
TEST_F(WorkerTest, knows_its_sandboxes_after_a_restart) {
    start_registered();
    make_sandbox();
    stop(seconds(1));
    desk->registered.clear();

    start_registered();
    EXPECT_EQ(desk->registered.front().capacity.available.cpu_millis, 7000);
}

TEST_F(WorkerTest, shows_a_pull_before_the_next_heartbeat_is_due) {
    start_registered();
    const auto create = lay_create(id<domain::SandboxId>(), "slow/image");
    EXPECT_TRUE(eventually(
        [&] {
            const auto& in_flight = desk->heartbeats.back().in_flight;
            return in_flight && !in_flight->empty() && in_flight->front().phase == "pulling image";
        },
        milliseconds(800)));
    EXPECT_EQ(report_of(create), nullptr);
}

// A delete waits for no pull.
TEST_F(WorkerTest, deletes_while_an_image_is_pulled) {
    start_registered();
    const auto box = id<domain::SandboxId>();
    const auto create = lay_create(box, "slow/image");
    run_for(milliseconds(50));
    const auto destroy = lay(box, domain::DeleteWork{});

    ASSERT_TRUE(reported(destroy, seconds(2)) && reported(create, seconds(2)));
    EXPECT_EQ(report_of(create)->error, "cancelled");
    EXPECT_TRUE(report_of(destroy)->success);
}

// As many commands as a sandbox runs at once and more: the delete is done all the same, heartbeats go on.
TEST_F(WorkerTest, deletes_a_sandbox_full_of_commands) {
    start_registered();
    const auto box = make_sandbox();
    std::vector<domain::Assignment> execs;
    for (int i = 0; i < 65; ++i) execs.push_back(lay_exec(box, {"sleep", "120"}));
    ASSERT_TRUE(eventually([&] { return runtime.commands() == 64; }));

    const auto destroy = lay(box, domain::DeleteWork{});

    ASSERT_TRUE(reported(destroy, seconds(5)));
    for (const auto& exec : execs) {
        ASSERT_TRUE(reported(exec, seconds(5)));
        EXPECT_EQ(report_of(exec)->error, "cancelled");
        EXPECT_EQ(report_of(exec)->output->exit_code, 137);
    }
    EXPECT_EQ(runtime.commands(), 0);
}

// The long poll brings a cancel at once, and again until the command is reported: no loop spins meanwhile.
TEST_F(WorkerTest, kills_a_command_that_is_cancelled) {
    start_registered();
    const auto box = make_sandbox();
    const auto exec = lay_exec(box, {"sleep", "30"});
    ASSERT_TRUE(eventually([&] { return runtime.commands() == 1; }));
    const auto leases = desk->lease_limits.size();

    desk->ask_to_cancel(exec.operation_id);

    ASSERT_TRUE(reported(exec, milliseconds(500)));
    EXPECT_EQ(report_of(exec)->error, "cancelled");
    EXPECT_LT(desk->lease_limits.size() - leases, 6);
}

TEST_F(WorkerTest, does_not_spin_over_a_cancel_that_it_knows_nothing_of) {
    start_registered();
    desk->ask_to_cancel(id<domain::OperationId>());
    run_for(milliseconds(1200));
    EXPECT_LT(desk->lease_limits.size(), 6);
}

TEST_F(WorkerTest, removes_what_the_controller_does_not_want_kept) {
    start_registered();
    const auto box = make_sandbox();
    desk->remove = {box};
    ASSERT_TRUE(eventually([&] { return runtime.sandboxes() == 0; }));
    EXPECT_THAT(desk->reports, SizeIs(1));
}

// A report is repeated until it is taken.
// 404 and 409 settle it: the lease is not renewed any more.
// What the controller can't read ends all the same: as a failure, without the sandbox's words.
// The controller's limit is the one that counts.
// A heartbeat that counts a sandbox as there must not arrive after the report that it is gone: the controller would
// take its room for used by others, and refuse the next create.
// Stopping: what has not begun goes back, what has is finished and reported, the sandbox lives on.
TEST_F(WorkerTest, stops_in_order) {
    concurrency = 1;
    start_registered();
    const auto box = make_sandbox();
    const auto working = lay_exec(box, {"sleep", "0.3"});
    lay_create(id<domain::SandboxId>(), "slow/image");
    const auto unbegun = lay_create(id<domain::SandboxId>());
    ASSERT_TRUE(eventually([&] { return runtime.commands() == 1 && desk->heartbeats.back().in_flight->size() == 3; }));

    stop(seconds(1));

    EXPECT_THAT(desk->released, ElementsAre(unbegun.id));
    ASSERT_NE(report_of(working), nullptr);
    EXPECT_TRUE(report_of(working)->success);
    EXPECT_EQ(runtime.sandboxes(), 1);
}

// An older controller copies a node's capacity from its heartbeats: one goes out before each result that changes it.
// It ignores wait_seconds, so that every poll is answered at once: two a second are enough.

}  // namespace
}  // namespace sandbox::sandboxd
