#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/event.hpp>

namespace sandbox::events {

/// Carries lifecycle events out of the control plane, at least once and in order per sandbox. Lives on the io thread.
class EventBus {
public:
    virtual ~EventBus() = default;
    /// "memory" or "nats".
    [[nodiscard]] virtual std::string_view kind() const noexcept = 0;
    /// Returns when all of them were accepted. On an error the caller sends all of them again: consumers know an event
    /// by its event_id. Errors: unavailable.
    virtual Task<Result<void>> publish(std::span<const domain::Event> events, Deadline deadline) = 0;
};

/// A bus within this process: subscribers get what is published while they are there. Nothing is kept for later.
class MemoryBus : public EventBus {
public:
    /// Called on the io thread, in the order of publishing. Must not throw. It may subscribe others and end
    /// subscriptions, its own too.
    using Subscriber = std::function<void(const domain::Event&)>;
    /// Calls the subscriber with each event until the returned token is dropped, which may outlive the bus.
    [[nodiscard]] virtual std::shared_ptr<void> subscribe(Subscriber subscriber) = 0;
};
[[nodiscard]] std::unique_ptr<MemoryBus> create_memory_bus();

}  // namespace sandbox::events
