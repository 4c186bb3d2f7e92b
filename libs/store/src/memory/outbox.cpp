#include <algorithm>
#include <utility>

#include "memory/state.hpp"

namespace sandbox::store::memory {

void State::tell(const SandboxRecord& sandbox, std::string_view type, Timestamp now,
                 std::map<std::string, std::string> attributes) {
    const auto& entity = sandbox.sandbox;
    attributes.emplace("state", to_text(entity.state));
    attributes.emplace("isolation", to_text(entity.isolation));
    append({.event_id = domain::EventId::make(now, random_),
            .event_type = std::string(type),
            .tenant = entity.spec.tenant,
            .sandbox_id = entity.id,
            .node_id = entity.node_id,
            .timestamp = now,
            .attributes = std::move(attributes)});
}

void State::tell(const NodeRecord& node, std::string_view type, Timestamp now) {
    append({.event_id = domain::EventId::make(now, random_),
            .event_type = std::string(type),
            .tenant = "",
            .sandbox_id = {},
            .node_id = node.node.id,
            .timestamp = now,
            .attributes = {{"name", node.node.name}, {"region", node.node.region}, {"zone", node.node.zone}}});
}

void State::append(domain::Event event) {
    outbox_.push_back({.sequence = ++last_sequence_, .event = std::move(event)});
    outbox_grew.notify_all();
}

std::vector<LoggedEvent> State::unpublished(std::size_t limit) const {
    const auto count = std::min(limit, outbox_.size());
    return {outbox_.begin(), outbox_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void State::published(std::uint64_t last_sequence) {
    while (!outbox_.empty() && outbox_.front().sequence <= last_sequence) {
        log_.push_back(std::move(outbox_.front()));
        outbox_.pop_front();
        if (log_.size() > settings_.max_ended_records) log_.pop_front();
    }
    log_grew.notify_all();
}

EventPage State::events(const EventFilter& filter) const {
    EventPage page{.events = {}, .next = filter.after};
    const auto later = [](std::uint64_t after, const LoggedEvent& event) { return after < event.sequence; };
    for (auto event = std::upper_bound(log_.begin(), log_.end(), filter.after, later);
         event != log_.end() && page.events.size() < filter.limit; ++event) {
        page.next = event->sequence;
        if (!filter.tenant || event->event.tenant == *filter.tenant) page.events.push_back(*event);
    }
    return page;
}

}  // namespace sandbox::store::memory
