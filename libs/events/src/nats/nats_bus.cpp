#include <vector>

#include <boost/asio/thread_pool.hpp>

#include <sandbox/async/offload.hpp>
#include <sandbox/events/nats_bus.hpp>

#include "link.hpp"

namespace sandbox::events {
namespace {

class NatsBus final : public EventBus {
public:
    explicit NatsBus(NatsSettings settings) : link_(std::make_shared<NatsLink>(std::move(settings))) {}
    NatsBus(const NatsBus&) = delete;
    NatsBus& operator=(const NatsBus&) = delete;
    ~NatsBus() override { thread_.join(); }

    [[nodiscard]] std::string_view kind() const noexcept override { return "nats"; }

    Task<Result<void>> publish(std::span<const domain::Event> events, Deadline deadline) override {
        if (events.empty()) co_return Result<void>{};
        auto publishing = [link = link_, batch = std::vector(events.begin(), events.end()), deadline] {
            return link->publish(batch, deadline);
        };
        co_return co_await async::offload(thread_, std::move(publishing));
    }

private:
    std::shared_ptr<NatsLink> link_;
    asio::thread_pool thread_{1};  // the library's calls block
};

}  // namespace

std::unique_ptr<EventBus> create_nats_bus(NatsSettings settings) {
    return std::make_unique<NatsBus>(std::move(settings));
}

}  // namespace sandbox::events
