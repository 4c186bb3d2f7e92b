#include "memory/state.hpp"

#include <algorithm>
#include <utility>

namespace sandbox::store::memory {

using domain::OperationKind;
using domain::OperationState;
using domain::SandboxState;

/// Whoever read the log of a former process goes on after its last number: a new log must not begin below it.
static std::uint64_t first_sequence(Timestamp now) {
    const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(milliseconds, 0));
}

State::State(Settings settings, Random& random, Timestamp now)
    : settings_(std::move(settings)),
      random_(random),
      counting_from_(now),
      listening_from_(now),
      last_sweep_(now),
      last_sequence_(first_sequence(now)) {}

Result<SandboxRecord*> State::find(domain::SandboxId id) {
    const auto found = sandboxes_.find(id);
    if (found == sandboxes_.end()) return fail(Code::not_found, "there is no sandbox " + id.text());
    return &found->second;
}

Result<OperationRecord*> State::find(domain::OperationId id) {
    const auto found = operations_.find(id);
    if (found == operations_.end()) return fail(Code::not_found, "there is no operation " + id.text());
    return &found->second;
}

Result<NodeRecord*> State::find(domain::NodeId id) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) return fail(Code::not_found, "no node " + id.text() + " is registered");
    return &found->second;
}

NodeRecord& State::node_of(const SandboxRecord& sandbox) {
    return nodes_.at(sandbox.sandbox.node_id);
}

SandboxRecord& State::sandbox_of(const OperationRecord& record) {
    return sandboxes_.at(record.operation.sandbox_id);
}

OperationRecord& State::operation_at(const domain::OperationId& id) {
    return operations_.at(id);
}

OperationRecord& State::enqueue(SandboxRecord& sandbox, domain::Work work, Timestamp now) {
    const auto id = domain::OperationId::make(now, random_);
    auto& record = operations_[id];
    record.operation = {.id = id,
                        .sandbox_id = sandbox.sandbox.id,
                        .kind = kind_of(work),
                        .state = OperationState::pending,
                        .output = std::nullopt,
                        .error = std::nullopt,
                        .created_at = now,
                        .updated_at = now,
                        .started_at = std::nullopt,
                        .argv = std::nullopt,
                        .phase = "queued"};
    if (const auto* exec = std::get_if<domain::ExecWork>(&work)) record.operation.argv = exec->command.argv;
    record.assignment = {.id = domain::AssignmentId::make(now, random_),
                         .operation_id = id,
                         .sandbox_id = sandbox.sandbox.id,
                         .node_id = sandbox.sandbox.node_id,
                         .kind = std::move(work),
                         .state = domain::AssignmentState::pending,
                         .attempt = 0,
                         .lease_until = std::nullopt,
                         .created_at = now};
    record.queue_place = ++queue_places_;

    by_assignment_.emplace(record.assignment.id, id);
    operation_list_.emplace(now, id.uuid);
    sandbox.operations.emplace(now, id.uuid);
    sandbox.open.insert(id);
    auto& node = node_of(sandbox);
    node.pending.insert(queue_key(record));
    node.work.notify_all();
    return record;
}

void State::queue_again(OperationRecord& record, Timestamp now) {
    if (record.operation.kind != OperationKind::destroy && sandbox_of(record).sandbox.state == SandboxState::stopping) {
        end(record, ended_without_report(record, "cancelled"), now);
        return;
    }
    forget_lease(record);
    record.assignment.state = domain::AssignmentState::pending;
    record.operation.phase = "queued";
    record.operation.updated_at = now;
    auto& node = nodes_.at(record.assignment.node_id);
    node.pending.insert(queue_key(record));
    node.work.notify_all();
}

State::Ending State::ended_without_report(const OperationRecord& record, std::string error) {
    Ending ending{.error = std::move(error), .output = std::nullopt};
    if (record.operation.kind == OperationKind::exec) ending.output.emplace().exit_code = 137;
    return ending;
}

void State::end(OperationRecord& record, Ending ending, Timestamp now) {
    auto& operation = record.operation;
    auto& sandbox = sandbox_of(record);
    auto& node = nodes_.at(record.assignment.node_id);
    const bool succeeded = !ending.error;

    forget_lease(record);
    node.pending.erase(queue_key(record));
    node.cancels_untold.erase(operation.id);
    sandbox.open.erase(operation.id);
    record.cancel_wanted = false;
    record.assignment.state = succeeded ? domain::AssignmentState::completed : domain::AssignmentState::failed;
    record.assignment.kind = domain::DeleteWork{};  // nobody asks any more what it was, and an input may be large

    operation.state = succeeded ? OperationState::succeeded : OperationState::failed;
    operation.error = std::move(ending.error);
    operation.output = std::move(ending.output);
    operation.phase.reset();
    operation.updated_at = now;
    // A teardown is kept as long as its sandbox, so that deleting again can name it.
    if (operation.kind != OperationKind::destroy) ended_operations_.emplace(now, operation.id);
    keep_output(record);
    // What fails because the sandbox is being deleted, or was cancelled, is no failure of the sandbox.
    const bool going =
        sandbox.sandbox.state == SandboxState::stopping || sandbox.sandbox.state == SandboxState::stopped;
    if (operation.error && *operation.error != "cancelled" && !going) {
        sandbox.sandbox.failure = operation.error;
        sandbox.sandbox.updated_at = now;
    }

    std::map<std::string, std::string> attributes{{"operation_id", operation.id.text()},
                                                  {"kind", std::string(to_text(operation.kind))}};
    if (operation.error) attributes.emplace("error", *operation.error);
    tell(sandbox, succeeded ? "sandbox.operation_succeeded" : "sandbox.operation_failed", now, std::move(attributes));
    if (record.ended) record.ended->notify_all();
}

void State::end_open(SandboxRecord& sandbox, const std::string& error, const OperationRecord* kept, Timestamp now) {
    for (const auto& id : std::vector(sandbox.open.begin(), sandbox.open.end())) {
        auto& record = operation_at(id);
        if (&record != kept) end(record, ended_without_report(record, error), now);
    }
}

bool State::move(SandboxRecord& sandbox, SandboxState next, Timestamp now) {
    auto& entity = sandbox.sandbox;
    if (!domain::may_move(entity.state, next)) return false;
    const bool was_live = domain::is_live(entity.state);
    const bool lives = domain::is_live(next);
    entity.state = next;
    entity.updated_at = now;
    if (next == SandboxState::running) sandbox.inventories_missed = 0;
    if (next == SandboxState::stopped) {
        entity.tunnels.clear();
        entity.spec.exposures.clear();
    }
    if (was_live && !lives) {
        give_back(sandbox);
        expiries_.erase({entity.expires_at, entity.id});
        sandbox.ended_at = now;
        ended_sandboxes_.emplace(now, entity.id);
    } else if (!was_live && lives) {
        ended_sandboxes_.erase({sandbox.ended_at, entity.id});
        hold(sandbox);
    }
    return true;
}

void State::fail_sandbox(SandboxRecord& sandbox, const std::string& reason, Timestamp now) {
    move(sandbox, SandboxState::failed, now);
    end_open(sandbox, reason, nullptr, now);
    sandbox.sandbox.failure = reason;
}

void State::wake_waiters() {
    for (auto& [id, record] : nodes_) record.work.notify_all();
    for (auto& [id, record] : operations_)
        if (record.ended) record.ended->notify_all();
}

void State::hold(SandboxRecord& sandbox) {
    auto& node = node_of(sandbox);
    const auto& entity = sandbox.sandbox;
    node.held += entity.spec.resources;
    node.live.insert(entity.id);
    fleet_.add_live(node.node.id, entity.spec.tenant, entity.spec.labels);
    follow_ledger(node);
}

void State::give_back(SandboxRecord& sandbox) {
    auto& node = node_of(sandbox);
    const auto& entity = sandbox.sandbox;
    node.held -= entity.spec.resources;
    node.live.erase(entity.id);
    fleet_.remove_live(node.node.id, entity.spec.tenant, entity.spec.labels);
    follow_ledger(node);
}

void State::follow_ledger(NodeRecord& node) {
    auto& capacity = node.node.capacity;
    const auto left = capacity.total - node.held - node.beyond;
    capacity.available = {.cpu_millis = std::max<std::int64_t>(left.cpu_millis, 0),
                          .memory_mib = std::max<std::int64_t>(left.memory_mib, 0),
                          .disk_mib = std::max<std::int64_t>(left.disk_mib, 0),
                          .pids = std::max<std::int64_t>(left.pids, 0)};
    capacity.running_sandboxes = static_cast<std::int64_t>(node.live.size());
    fleet_.set_capacity(node.node.id, capacity);
}

}  // namespace sandbox::store::memory
