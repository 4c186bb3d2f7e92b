#include <algorithm>

#include "memory/state.hpp"

namespace sandbox::store::memory {

namespace {

template <class State>
bool among(const std::vector<State>& wanted, State state) {
    return wanted.empty() || std::ranges::find(wanted, state) != wanted.end();
}

/// The newest records first, from after the cursor, as many as asked for of those that `read` gives.
template <class T, class Read>
Page<T> newest_first(const std::set<ListKey>& list, const std::optional<Cursor>& after,
                     std::optional<std::size_t> limit, Read read) {
    Page<T> page;
    auto end = after ? list.lower_bound({after->created_at, after->id}) : list.end();
    std::optional<Cursor> last;
    for (auto key = std::make_reverse_iterator(end); key != list.rend(); ++key) {
        auto item = read(key->second);
        if (!item) continue;
        if (limit && page.items.size() == *limit) {
            page.next = last;
            break;
        }
        page.items.push_back(*std::move(item));
        last = Cursor{.created_at = key->first, .id = key->second};
    }
    return page;
}

domain::Operation without_output(const domain::Operation& operation) {
    return {.id = operation.id,
            .sandbox_id = operation.sandbox_id,
            .kind = operation.kind,
            .state = operation.state,
            .output = std::nullopt,
            .error = operation.error,
            .created_at = operation.created_at,
            .updated_at = operation.updated_at,
            .started_at = operation.started_at,
            .argv = operation.argv,
            .phase = operation.phase};
}

}  // namespace

Page<domain::Sandbox> State::sandboxes(const SandboxFilter& filter) const {
    return newest_first<domain::Sandbox>(sandbox_list_, filter.after, filter.limit,
                                         [&](const Uuid& id) -> std::optional<domain::Sandbox> {
                                             const auto& sandbox = sandboxes_.at(domain::SandboxId{id}).sandbox;
                                             if (filter.tenant && sandbox.spec.tenant != *filter.tenant)
                                                 return std::nullopt;
                                             if (!among(filter.states, sandbox.state)) return std::nullopt;
                                             return sandbox;
                                         });
}

Page<domain::Operation> State::operations(const OperationFilter& filter) const {
    const auto* list = &operation_list_;
    if (filter.sandbox_id) {
        const auto found = sandboxes_.find(*filter.sandbox_id);
        if (found == sandboxes_.end()) return {};
        list = &found->second.operations;
    }
    return newest_first<domain::Operation>(
        *list, filter.after, filter.limit, [&](const Uuid& id) -> std::optional<domain::Operation> {
            const auto& operation = operations_.at(domain::OperationId{id}).operation;
            if (!among(filter.states, operation.state)) return std::nullopt;
            return without_output(operation);
        });
}

std::vector<domain::Node> State::nodes() const {
    std::vector<domain::Node> all;
    all.reserve(nodes_.size());
    for (const auto& [id, record] : nodes_) all.push_back(record.node);
    std::ranges::sort(all, {}, &domain::Node::id);
    return all;
}

Statistics State::statistics() const {
    Statistics statistics;
    for (const auto& [id, record] : sandboxes_) ++statistics.sandboxes[record.sandbox.state];
    for (const auto& [id, record] : operations_) ++statistics.operations[record.operation.state];
    statistics.nodes = nodes_.size();
    for (const auto& [id, record] : nodes_) {
        if (record.stale) ++statistics.stale_nodes;
        statistics.pending_assignments += record.pending.size();
    }
    statistics.outbox = outbox_.size();
    if (!outbox_.empty()) statistics.oldest_unpublished = outbox_.front().event.timestamp;
    return statistics;
}

}  // namespace sandbox::store::memory
