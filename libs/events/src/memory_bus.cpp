#include <utility>
#include <vector>

#include <sandbox/events/event_bus.hpp>

namespace sandbox::events {

namespace {

class InProcessBus final : public MemoryBus {
public:
    [[nodiscard]] std::string_view kind() const noexcept override { return "memory"; }

    Task<Result<void>> publish(std::span<const domain::Event> events, Deadline) override {
        for (const auto& event : events) deliver(event);
        co_return Result<void>{};
    }

    [[nodiscard]] std::shared_ptr<void> subscribe(Subscriber subscriber) override {
        auto subscription = std::make_shared<Subscriber>(std::move(subscriber));
        subscriptions_.push_back(subscription);
        return subscription;
    }

private:
    /// To those who were there when it began and still are: a subscriber may subscribe and end subscriptions.
    void deliver(const domain::Event& event) {
        std::erase_if(subscriptions_, [](const auto& subscription) { return subscription.expired(); });
        const auto present = subscriptions_;
        for (const auto& subscription : present)
            if (const auto subscriber = subscription.lock()) (*subscriber)(event);
    }

    std::vector<std::weak_ptr<Subscriber>> subscriptions_;
};

}  // namespace

std::unique_ptr<MemoryBus> create_memory_bus() {
    return std::make_unique<InProcessBus>();
}

}  // namespace sandbox::events
