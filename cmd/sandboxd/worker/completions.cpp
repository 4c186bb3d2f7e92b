#include "completions.hpp"

#include <utility>

#include <fmt/format.h>

namespace sandbox::sandboxd {
namespace {

constexpr std::int64_t kKilledExitCode = 137;
constexpr const char* kCancelled = "cancelled";
constexpr const char* kInterrupted = "interrupted";

domain::Completion completion_of(const domain::Assignment& assignment, bool success) {
    domain::Completion completion;
    completion.assignment_id = assignment.id;
    completion.operation_id = assignment.operation_id;
    completion.sandbox_id = assignment.sandbox_id;
    completion.attempt = assignment.attempt;
    completion.success = success;
    switch (domain::kind_of(assignment.kind)) {
        case domain::OperationKind::create:
            completion.sandbox_state = success ? domain::SandboxState::running : domain::SandboxState::failed;
            break;
        case domain::OperationKind::destroy:
            completion.sandbox_state = success ? domain::SandboxState::stopped : domain::SandboxState::failed;
            break;
        case domain::OperationKind::exec:
        case domain::OperationKind::expose:
        case domain::OperationKind::unexpose:
            completion.sandbox_state = domain::SandboxState::running;
            break;
    }
    return completion;
}

/// Whether the result shows a kill; a command that had ended by itself is reported as it ended.
bool was_killed(const runtime::ExecResult& result) {
    return result.error || result.output.signal || result.output.timed_out ||
           result.output.exit_code == kKilledExitCode;
}

}  // namespace

domain::Completion succeeded(const domain::Assignment& assignment) {
    return completion_of(assignment, true);
}

domain::Completion failed(const domain::Assignment& assignment, std::string error) {
    auto completion = completion_of(assignment, false);
    completion.error = std::move(error);
    return completion;
}

domain::Completion cancelled(const domain::Assignment& assignment) {
    auto completion = failed(assignment, kCancelled);
    if (domain::kind_of(assignment.kind) == domain::OperationKind::exec)
        completion.output.emplace().exit_code = kKilledExitCode;
    return completion;
}

domain::Completion interrupted(const domain::Assignment& assignment) {
    auto completion = failed(assignment, kInterrupted);
    completion.output.emplace().exit_code = kKilledExitCode;
    return completion;
}

domain::Completion of_exec(const domain::Assignment& assignment, runtime::ExecResult result, bool was_cancelled) {
    if (was_cancelled && was_killed(result)) {
        auto completion = cancelled(assignment);
        result.output.exit_code = kKilledExitCode;
        completion.output = std::move(result.output);
        return completion;
    }
    auto completion = completion_of(assignment, result.output.exit_code == 0);
    if (!completion.success)
        completion.error = result.error ? std::move(*result.error)
                                        : fmt::format("command exited with status {}", result.output.exit_code);
    completion.output = std::move(result.output);
    return completion;
}

}  // namespace sandbox::sandboxd
