#include <utility>

#include <sandbox/base/text.hpp>

#include "memory/state.hpp"

namespace sandbox::store::memory {

using domain::OperationKind;
using domain::SandboxState;

namespace {

// What `docker run` answers when it is the engine that has failed, not the command.
constexpr std::int64_t kNoExitCode = 125;
constexpr std::int64_t kKilled = 137;
// A reason is a sentence; it goes into the operation, the sandbox and an event.
constexpr std::size_t kMaxErrorBytes = 4096;

bool ended_badly(SandboxState reported) {
    return reported == SandboxState::failed || reported == SandboxState::stopped;
}

/// What the report says of an exec, made whole: an older worker may leave out output or error.
std::pair<std::optional<std::string>, domain::Output> exec_result(domain::Completion&& report, bool cancel_wanted) {
    const bool killed = !report.output || report.output->exit_code == kKilled;
    domain::Output output;
    if (report.output)
        output = *std::move(report.output);
    else
        output.exit_code = report.success ? 0 : kNoExitCode;
    if (report.success && output.exit_code == 0) return {std::nullopt, std::move(output)};
    if (cancel_wanted && killed) {
        output.exit_code = kKilled;
        return {"cancelled", std::move(output)};
    }
    auto error = std::move(report.error).value_or("command exited with status " + std::to_string(output.exit_code));
    return {std::move(error), std::move(output)};
}

}  // namespace

Result<void> State::complete(domain::Completion report, Timestamp now) {
    const auto found = by_assignment_.find(report.assignment_id);
    if (found == by_assignment_.end())
        return fail(Code::not_found, "there is no assignment " + report.assignment_id.text());
    auto& record = operation_at(found->second);
    if (record.operation.id != report.operation_id || record.operation.sandbox_id != report.sandbox_id)
        return fail(Code::conflict, "assignment " + report.assignment_id.text() +
                                        " belongs to another operation or another sandbox than the report says");
    const auto attempt = record.assignment.attempt;
    if (domain::has_ended(record.operation.state) || attempt == 0 || report.attempt.value_or(attempt) != attempt)
        return {};

    auto& sandbox = sandbox_of(record);
    if (report.error) report.error = shortened(*report.error, kMaxErrorBytes);
    std::optional<std::string> error;
    if (!report.success) error = report.error.value_or("the worker gave no reason");
    switch (record.operation.kind) {
        case OperationKind::create:
            if (!error && move(sandbox, SandboxState::running, now)) sandbox.sandbox.startup = report.startup;
            // One that is being deleted goes on to stopped.
            if (error && sandbox.sandbox.state != SandboxState::stopping) move(sandbox, SandboxState::failed, now);
            end(record, {.error = error, .output = std::nullopt}, now);
            break;
        case OperationKind::exec: {
            const bool took_sandbox_along = ended_badly(report.sandbox_state);
            auto [failure, output] = exec_result(std::move(report), record.cancel_wanted);
            end(record, {.error = std::move(failure), .output = std::move(output)}, now);
            if (took_sandbox_along && sandbox.sandbox.state == SandboxState::running)
                fail_sandbox(sandbox, "sandbox lost: its worker says that it ended during a command", now);
            break;
        }
        case OperationKind::destroy:
            if (!error && sandbox.sandbox.state == SandboxState::stopping) {
                finish_teardown(sandbox, record, now);
                break;
            }
            if (error && sandbox.deletion == record.operation.id && move(sandbox, SandboxState::failed, now))
                end_open(sandbox, "cancelled", &record, now);
            end(record, {.error = error, .output = std::nullopt}, now);
            break;
        case OperationKind::expose:
        case OperationKind::unexpose:
            end(record, {.error = error, .output = std::nullopt}, now);
            break;
    }
    return {};
}

}  // namespace sandbox::store::memory
