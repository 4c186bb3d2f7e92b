#include "store_contract.hpp"

namespace sandbox::store::contract {

// A create that went well: the sandbox runs, and its start-up command's first news is there.
TEST_P(StoreContract, a_good_create_makes_the_sandbox_run) {
    const auto node = register_node();
    const auto placed = place();
    auto report = success_of(lease_one(node));
    report.startup = domain::Startup{.running = true, .exit_code = std::nullopt, .tail = "listening"};

    complete(report);

    const auto running = sandbox(placed.sandbox.id);
    EXPECT_EQ(running.state, SandboxState::running);
    EXPECT_EQ(running.startup, report.startup);
    const auto create = operation(placed.operation.id);
    EXPECT_EQ(create.state, OperationState::succeeded);
    EXPECT_EQ(create.phase, std::nullopt);
    EXPECT_EQ(create.output, std::nullopt);
}

// An exec gives its output; one that exits with another status than 0 has failed, and its output is there as well.
TEST_P(StoreContract, an_exec_ends_with_its_output) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto good = exec(id);
    const auto bad = exec(id);
    EXPECT_EQ(good.argv, std::vector<std::string>{"true"});
    const auto assignments = lease(node);

    complete(exit_of(assignments[0], 0, "hello"));
    complete(exit_of(assignments[1], 3, "oops"));

    EXPECT_EQ(operation(good.id).state, OperationState::succeeded);
    EXPECT_EQ(operation(good.id).output->stdout_text, "hello");
    EXPECT_EQ(why_failed(bad.id), "command exited with status 3");
    EXPECT_EQ(operation(bad.id).output->exit_code, 3);
    EXPECT_EQ(state(id), SandboxState::running);
    EXPECT_EQ(sandbox(id).failure, "command exited with status 3");
}

// A command prints bytes: what is no text, or holds NUL, comes back as it was told.
TEST_P(StoreContract, an_output_may_hold_anything) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto started = exec(id);
    using namespace std::string_literals;
    auto report = exit_of(lease_one(node), 0, "a\0b\x01\x7f\"\\\n\xf0\x9f\x98\x80"s);
    report.output->stderr_base64 = "/wD+";
    report.output->signal = 9;

    complete(report);

    EXPECT_EQ(operation(started.id).output, report.output);
}

// An older worker may say neither why nor with what output: an exec that has ended has an exit code all the same.
TEST_P(StoreContract, an_exec_without_output_gets_an_exit_code) {
    const auto node = register_older_worker();
    const auto id = running_sandbox();
    const auto started = exec(id);
    auto report = failure_of(lease_one(node), "driver: printed nothing");
    report.attempt.reset();

    complete(report);

    EXPECT_EQ(why_failed(started.id), "driver: printed nothing");
    EXPECT_EQ(operation(started.id).output->exit_code, 125);
}

// Commands run in a running sandbox only.
TEST_P(StoreContract, exec_wants_a_running_sandbox) {
    register_node();
    const auto placed = place();

    EXPECT_EQ(error(store().exec(placed.sandbox.id, command({"true"}), {}, in(5s))), Code::conflict);
    EXPECT_EQ(error(store().exec({}, command({"true"}), {}, in(5s))), Code::not_found);
}

// Standard input that the node's worker would drop is refused, not lost.
TEST_P(StoreContract, stdin_wants_a_worker_that_knows_it) {
    const auto older = register_older_worker();
    const auto id = running_sandbox();
    auto cat = command({"cat"});
    cat.stdin_bytes = "hello";

    EXPECT_EQ(error(store().exec(id, cat, {}, in(5s))), Code::conflict);

    value(store().drain(older, true, {}, in(5s)));
    const auto newer = register_node();
    const auto other = running_sandbox();
    value(store().exec(other, cat, {}, in(5s)));
    EXPECT_EQ(std::get<domain::ExecWork>(lease_one(newer).kind).command.stdin_bytes, "hello");
}

// The first report counts; a repeated one is taken note of and changes nothing.
TEST_P(StoreContract, the_first_report_of_an_assignment_counts) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto started = exec(id);
    const auto assignment = lease_one(node);
    complete(exit_of(assignment, 0, "first"));
    events();

    complete(exit_of(assignment, 1, "second"));

    EXPECT_EQ(operation(started.id).state, OperationState::succeeded);
    EXPECT_EQ(operation(started.id).output->stdout_text, "first");
    EXPECT_TRUE(events().empty());
}

// A worker whose lease went to a later attempt is fenced off.
TEST_P(StoreContract, a_report_of_a_former_attempt_changes_nothing) {
    const auto node = register_node();
    const auto placed = place();
    const auto former = lease_one(node);
    advance(31s);
    sweep();
    const auto current = lease_one(node);

    complete(failure_of(former, "too late"));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::creating);

    complete(success_of(current));
    EXPECT_EQ(state(placed.sandbox.id), SandboxState::running);
}

// A report that comes when the lease has run out, but nobody else has the work, is as good as any.
TEST_P(StoreContract, a_late_report_counts_while_nobody_else_has_the_work) {
    const auto node = register_node();
    const auto placed = place();
    const auto assignment = lease_one(node);
    advance(31s);
    EXPECT_EQ(sweep().releases, 1U);

    complete(success_of(assignment));

    EXPECT_EQ(state(placed.sandbox.id), SandboxState::running);
    EXPECT_TRUE(lease(node).empty());
}

// What a worker says of work that it was never given is no news.
TEST_P(StoreContract, a_report_of_work_never_given_changes_nothing) {
    const auto node = register_node();
    const auto placed = place();
    const auto assignment = lease_one(node);
    value(store().release({assignment.id}, in(5s)));
    const auto other = place();
    auto report = success_of(assignment);
    report.attempt = 0;

    complete(report);

    EXPECT_NE(state(placed.sandbox.id), SandboxState::running);
    EXPECT_EQ(state(other.sandbox.id), SandboxState::scheduled);
}

// Ids that do not belong together are somebody's mistake, and an unknown assignment is said to be one.
TEST_P(StoreContract, a_report_must_name_ids_that_belong_together) {
    const auto node = register_node();
    place();
    place();
    const auto assignments = lease(node);
    auto wrong_operation = success_of(assignments[0]);
    wrong_operation.operation_id = assignments[1].operation_id;
    auto wrong_sandbox = success_of(assignments[0]);
    wrong_sandbox.sandbox_id = assignments[1].sandbox_id;
    auto unknown = success_of(assignments[0]);
    unknown.assignment_id = {};

    EXPECT_EQ(error(store().complete(wrong_operation, in(5s))), Code::conflict);
    EXPECT_EQ(error(store().complete(wrong_sandbox, in(5s))), Code::conflict);
    EXPECT_EQ(error(store().complete(unknown, in(5s))), Code::not_found);
    EXPECT_EQ(state(assignments[0].sandbox_id), SandboxState::creating);
}

// A worker that says that the sandbox went down with a command is believed.
TEST_P(StoreContract, an_exec_report_may_say_that_the_sandbox_has_failed) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto other = exec(id);
    exec(id);
    const auto assignments = lease(node);
    auto report = exit_of(assignments[1], 137);
    report.sandbox_state = SandboxState::failed;

    complete(report);

    EXPECT_EQ(state(id), SandboxState::failed);
    EXPECT_EQ(operation(other.id).state, OperationState::failed);
    EXPECT_EQ(available(node), capacity(node).total);
}

// Waiting for an operation ends with it, not at the end of the wait; one that takes longer is given as it stands.
TEST_P(StoreContract, waiting_for_an_operation_ends_with_it) {
    const auto node = register_node();
    const auto id = running_sandbox();
    const auto started = exec(id);
    const auto assignment = lease_one(node);
    EXPECT_EQ(value(store().wait_operation(started.id, at_once())).state, OperationState::running);
    const auto waiting = start(store().wait_operation(started.id, in(60s)));
    EXPECT_FALSE(waiting.done());

    complete(exit_of(assignment, 0, "out"));

    const auto ended = end_of(waiting);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->output->stdout_text, "out");
    EXPECT_EQ(value(store().wait_operation(started.id, in(60s))).state, OperationState::succeeded);
    EXPECT_EQ(error(store().wait_operation({}, in(60s))), Code::not_found);
}

}  // namespace sandbox::store::contract
