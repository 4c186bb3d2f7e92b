// One worker against a controller's desk over real HTTP, with a runtime that runs commands as processes.
#include <algorithm>
#include <chrono>
#include <support/local_runtime.hpp>
#include <support/process.hpp>
#include <support/run_task.hpp>
#include <worker/worker.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller_desk.hpp"

namespace sandbox::sandboxd {
namespace {

using domain::SandboxState;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class WorkerTest : public testing::Test {
protected:
    WorkerTest() : runtime(io.get_executor(), directory.path()) {}
    ~WorkerTest() override {
        if (worker) stop(milliseconds(0));
    }

    void start() {
        if (!desk) desk.emplace(io);
        client = std::make_unique<client::WorkerClient>(io.get_executor(), desk->settings());
        WorkerSettings settings;
        settings.node_id = id<domain::NodeId>();
        settings.name = "worker";
        settings.region = "local";
        settings.zone = "local-a";
        settings.resources = {.cpu_millis = 8000, .memory_mib = 8192, .disk_mib = 1000, .pids = 4096};
        settings.concurrency = concurrency;
        settings.state_dir = directory.path();
        worker = std::make_unique<Worker>(io.get_executor(), settings, runtime, *client, clock, random);
        worker->start();
    }
    void start_registered() {
        start();
        ASSERT_TRUE(eventually([&] { return worker->registered() && !desk->heartbeats.empty(); }));
    }
    void stop(milliseconds grace) {
        test::run(io, worker->stop(in(grace)));
        worker.reset();
    }

    /// Lets everything run until the condition holds.
    template <class Condition>
    bool eventually(Condition condition, milliseconds limit = seconds(10)) {
        const auto until = std::chrono::steady_clock::now() + limit;
        io.restart();
        while (!condition()) {
            if (std::chrono::steady_clock::now() >= until) return false;
            io.run_one_for(milliseconds(20));
        }
        return true;
    }
    void run_for(milliseconds time) {
        io.restart();
        io.run_for(time);
    }

    template <class Id>
    Id id() {
        return Id::make(clock.now(), random);
    }
    domain::Assignment assignment(domain::SandboxId of, domain::Work work) {
        domain::Assignment made;
        made.id = id<domain::AssignmentId>();
        made.operation_id = id<domain::OperationId>();
        made.sandbox_id = of;
        made.node_id = id<domain::NodeId>();
        made.kind = std::move(work);
        made.created_at = clock.now();
        return made;
    }
    domain::Assignment lay(domain::SandboxId of, domain::Work work) {
        auto made = assignment(of, std::move(work));
        desk->lay(made);
        return made;
    }
    domain::Assignment lay_create(domain::SandboxId of, std::string image = "image:local") {
        domain::CreateWork work;
        work.spec.tenant = "tenant";
        work.spec.image = std::move(image);
        work.spec.resources = {.cpu_millis = 1000, .memory_mib = 1024, .disk_mib = 100, .pids = 256};
        return lay(of, work);
    }
    domain::Assignment lay_exec(domain::SandboxId of, std::vector<std::string> argv) {
        domain::ExecWork work;
        work.command.argv = std::move(argv);
        return lay(of, work);
    }
    const domain::Completion* report_of(const domain::Assignment& assignment) {
        const auto found = std::ranges::find(desk->reports, assignment.operation_id, &domain::Completion::operation_id);
        return found == desk->reports.end() ? nullptr : &*found;
    }
    bool reported(const domain::Assignment& assignment, milliseconds limit = seconds(10)) {
        return eventually([&] { return report_of(assignment) != nullptr; }, limit);
    }
    domain::SandboxId make_sandbox() {
        const auto box = id<domain::SandboxId>();
        const auto create = lay_create(box);
        EXPECT_TRUE(reported(create));
        return box;
    }

    asio::io_context io{1};
    test::TemporaryDirectory directory;
    async::SystemClock clock;
    SystemRandom random;
    test::LocalRuntime runtime;
    std::optional<ControllerDesk> desk;
    std::unique_ptr<client::WorkerClient> client;
    std::unique_ptr<Worker> worker;
    std::size_t concurrency = 16;
};

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
TEST_F(WorkerTest, repeats_a_report_until_it_is_taken) {
    start_registered();
    desk->report_failures = {503, 500, 408};
    const auto create = lay_create(id<domain::SandboxId>());
    ASSERT_TRUE(reported(create));
    EXPECT_THAT(desk->report_failures, IsEmpty());
}

// 404 and 409 settle it: the lease is not renewed any more.
TEST_F(WorkerTest, gives_a_report_up_that_nobody_wants) {
    start_registered();
    desk->report_failures = {409, 404};
    lay_create(id<domain::SandboxId>());
    lay_create(id<domain::SandboxId>());
    ASSERT_TRUE(eventually([&] { return desk->report_failures.empty(); }));
    ASSERT_TRUE(eventually([&] { return desk->heartbeats.back().in_flight->empty(); }));
    EXPECT_THAT(desk->reports, IsEmpty());
}

// What the controller can't read ends all the same: as a failure, without the sandbox's words.
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

// The controller's limit is the one that counts.
TEST_F(WorkerTest, keeps_as_much_output_as_the_controller_takes) {
    start_registered();
    const auto box = make_sandbox();
    const auto exec = lay_exec(box, {"head", "-c", "300000", "/dev/zero"});
    ASSERT_TRUE(reported(exec));
    EXPECT_TRUE(report_of(exec)->output->truncated);
    EXPECT_LE(report_of(exec)->output->stdout_text.size(), 100'000);
}

// A heartbeat that counts a sandbox as there must not arrive after the report that it is gone: the controller would
// take its room for used by others, and refuse the next create.
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

// It ignores wait_seconds, so that every poll is answered at once: two a second are enough.
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
