#include <utility>

#include "memory/state.hpp"

namespace sandbox::store::memory {

namespace {

std::size_t size_of(const domain::Output& output) {
    return output.stdout_text.size() + output.stderr_text.size() + output.stdout_base64.value_or("").size() +
           output.stderr_base64.value_or("").size();
}

}  // namespace

void State::prune(Timestamp now, Swept& swept) {
    const bool keeps_all = settings_.retention.count() == 0;
    const auto old = now - settings_.retention;
    const auto too_much = [&](const auto& ended) {
        return ended.size() > settings_.max_ended_records ||
               (!ended.empty() && !keeps_all && ended.begin()->first < old);
    };
    while (too_much(ended_sandboxes_)) {
        forget(sandboxes_.at(ended_sandboxes_.begin()->second));
        ++swept.pruned;
    }
    while (too_much(ended_operations_)) {
        forget(operation_at(ended_operations_.begin()->second));
        ++swept.pruned;
    }
    while (!log_.empty() && !keeps_all && log_.front().event.timestamp < old) log_.pop_front();
    while (!outputs_.empty() && outputs_.begin()->first < now - settings_.output_retention)
        forget_output(operation_at(outputs_.begin()->second));
}

void State::keep_output(OperationRecord& record) {
    if (!record.operation.output) return;
    outputs_.emplace(record.operation.updated_at, record.operation.id);
    output_bytes_ += size_of(*record.operation.output);
    while (output_bytes_ > settings_.max_output_bytes_kept && outputs_.size() > 1)
        forget_output(operation_at(outputs_.begin()->second));
}

void State::forget_output(OperationRecord& record) {
    auto& operation = record.operation;
    if (!operation.output) return;
    output_bytes_ -= size_of(*operation.output);
    outputs_.erase({operation.updated_at, operation.id});
    operation.output.reset();
}

void State::forget(SandboxRecord& sandbox) {
    for (const auto& [created_at, id] : std::set(sandbox.operations)) forget(operation_at(domain::OperationId{id}));
    const auto& entity = sandbox.sandbox;
    ended_sandboxes_.erase({sandbox.ended_at, entity.id});
    sandbox_list_.erase({entity.created_at, entity.id.uuid});
    sandboxes_.erase(domain::SandboxId(entity.id));
}

void State::forget(OperationRecord& record) {
    forget_output(record);
    forget_lease(record);
    const auto& operation = record.operation;
    nodes_.at(record.assignment.node_id).pending.erase(queue_key(record));
    sandbox_of(record).open.erase(operation.id);
    ended_operations_.erase({operation.updated_at, operation.id});
    operation_list_.erase({operation.created_at, operation.id.uuid});
    sandbox_of(record).operations.erase({operation.created_at, operation.id.uuid});
    by_assignment_.erase(record.assignment.id);
    operations_.erase(domain::OperationId(operation.id));
}

}  // namespace sandbox::store::memory
