#include "postgres/board.hpp"

namespace sandbox::store::postgres {

std::shared_ptr<Board::Node> Board::node(const domain::NodeId& id) {
    auto& entry = nodes_[id];
    if (!entry) entry = std::make_shared<Node>();
    return entry;
}

std::shared_ptr<Topic> Board::operation(const domain::OperationId& id) {
    auto& entry = operations_[id];
    if (!entry) entry = std::make_shared<Topic>();
    return entry;
}

void Board::take(const Notes& notes) {
    for (const auto& id : notes.work)
        if (const auto found = nodes_.find(id); found != nodes_.end()) found->second->work.changed();
    for (const auto& id : notes.ended)
        if (const auto found = operations_.find(id); found != operations_.end()) found->second->changed();
    if (notes.log_grew) log.changed();
}

void Board::wake_all() {
    for (auto& [id, node] : nodes_) node->work.changed();
    for (auto& [id, topic] : operations_) topic->changed();
    outbox.changed();
    log.changed();
}

std::vector<domain::OperationId> Board::awaited() {
    // A call that is between two waits holds on to its topic.
    std::erase_if(operations_, [](const auto& entry) { return entry.second.use_count() == 1; });
    std::erase_if(nodes_, [](const auto& entry) { return entry.second.use_count() == 1; });
    std::vector<domain::OperationId> ids;
    ids.reserve(operations_.size());
    for (const auto& [id, topic] : operations_) ids.push_back(id);
    return ids;
}

}  // namespace sandbox::store::postgres
