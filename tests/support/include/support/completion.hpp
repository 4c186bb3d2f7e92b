#pragma once

#include <sandbox/domain/assignment.hpp>

namespace sandbox::test {

/// What a worker tells of an assignment that went well.
inline domain::Completion success_of(const domain::Assignment& assignment) {
    domain::Completion report;
    report.assignment_id = assignment.id;
    report.operation_id = assignment.operation_id;
    report.sandbox_id = assignment.sandbox_id;
    report.success = true;
    report.attempt = assignment.attempt;
    const bool deletes = kind_of(assignment.kind) == domain::OperationKind::destroy;
    report.sandbox_state = deletes ? domain::SandboxState::stopped : domain::SandboxState::running;
    return report;
}

}  // namespace sandbox::test
