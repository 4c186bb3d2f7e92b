#include <algorithm>
#include <utility>

#include "memory/state.hpp"

namespace sandbox::store::memory {

using domain::AssignmentState;
using domain::OperationKind;
using domain::SandboxState;

Result<Deletion> State::destroy(domain::SandboxId id, Timestamp now) {
    const auto found = find(id);
    if (!found) return fail(found.error());
    auto& sandbox = **found;
    if (sandbox.sandbox.state == SandboxState::stopped)
        return Deletion{.operation = operation_at(*sandbox.deletion).operation, .finished = true};
    return Deletion{.operation = tear_down(sandbox, now).operation, .finished = false};
}

OperationRecord& State::tear_down(SandboxRecord& sandbox, Timestamp now) {
    const bool under_way = sandbox.deletion && sandbox.open.contains(*sandbox.deletion);
    if (sandbox.sandbox.state == SandboxState::stopping && under_way) return operation_at(*sandbox.deletion);
    // Scheduled means that no worker has ever been given the create.
    const bool never_begun = sandbox.sandbox.state == SandboxState::scheduled;
    const bool unreachable = is_lost(node_of(sandbox), now);

    if (move(sandbox, SandboxState::stopping, now)) tell(sandbox, "sandbox.stopping", now);
    for (const auto& id : std::vector(sandbox.open.begin(), sandbox.open.end())) {
        auto& record = operation_at(id);
        if (under_way && id == *sandbox.deletion) continue;
        if (record.assignment.state == AssignmentState::pending)
            end(record, ended_without_report(record, "cancelled"), now);
        else if (record.operation.kind == OperationKind::exec)
            want_cancelled(record);
    }
    if (!under_way) sandbox.deletion = enqueue(sandbox, domain::DeleteWork{}, now).operation.id;
    auto& deletion = operation_at(*sandbox.deletion);
    if (unreachable && !never_begun) node_of(sandbox).abandoned.insert(sandbox.sandbox.id);
    if (unreachable || never_begun) finish_teardown(sandbox, deletion, now);
    return deletion;
}

void State::finish_teardown(SandboxRecord& sandbox, OperationRecord& deletion, Timestamp now) {
    move(sandbox, SandboxState::stopped, now);
    end_open(sandbox, "cancelled", &deletion, now);
    end(deletion, Ending{}, now);
}

void State::want_cancelled(OperationRecord& record) {
    if (record.cancel_wanted) return;
    record.cancel_wanted = true;
    auto& node = nodes_.at(record.assignment.node_id);
    node.cancels_untold.insert(record.operation.id);
    node.work.notify_all();
}

Result<domain::Operation> State::cancel(domain::OperationId id, Timestamp now) {
    const auto found = find(id);
    if (!found) return fail(found.error());
    auto& record = **found;
    auto& operation = record.operation;
    if (domain::has_ended(operation.state)) return operation;

    if (operation.state == domain::OperationState::pending) {
        auto& sandbox = sandbox_of(record);
        // Without its create a sandbox can't come to be. One whose teardown is cancelled stays stopping: there is no
        // way back, and deleting it again, or its expiry, enqueues another.
        if (operation.kind == OperationKind::create) {
            fail_sandbox(sandbox, "cancelled", now);
        } else {
            end(record, ended_without_report(record, "cancelled"), now);
            if (operation.kind == OperationKind::destroy && domain::is_live(sandbox.sandbox.state))
                expiries_.emplace(sandbox.sandbox.expires_at, sandbox.sandbox.id);
        }
        return operation;
    }
    if (operation.kind != OperationKind::exec)
        return fail(Code::conflict,
                    "a " + std::string(to_text(operation.kind)) + " that is running can't be cancelled");
    const auto& features = nodes_.at(record.assignment.node_id).node.features;
    if (std::ranges::find(features, "cancel") == features.end())
        return fail(Code::conflict, "the sandbox's node can't cancel a command: its worker is too old");
    want_cancelled(record);
    return operation;
}

}  // namespace sandbox::store::memory
