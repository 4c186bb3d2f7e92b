// The controller's background work: what time brings (expiry, lost nodes, leases that ran out, old records), and the
// events' way from the outbox to the bus.
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

#include "controller.hpp"
#include "limits.hpp"

namespace sandbox::sandboxd {

/// Often enough that a sandbox ends within two seconds of its time.
static constexpr std::chrono::milliseconds kSweepInterval{1000};
static constexpr std::chrono::seconds kPublishRetry{1};
static constexpr std::size_t kPublishBatch = 256;

static Task<void> pause(std::chrono::milliseconds duration) {
    asio::steady_timer timer(co_await asio::this_coro::executor, duration);
    co_await timer.async_wait(asio::use_awaitable);
}

Task<void> Controller::sweep_forever() {
    while (!stopping_) {
        auto swept = co_await store_.sweep(in(kStoreTimeout));
        if (!swept) {
            log::warn("sweep failed, tried again shortly", {{"error", swept.error().message()}});
        } else {
            metrics_.swept(*swept);
            if (swept->lost_nodes > 0)
                log::warn("nodes lost", {{"nodes", std::to_string(swept->lost_nodes)},
                                         {"sandboxes", std::to_string(swept->lost_sandboxes)}});
        }
        co_await pause(kSweepInterval);
    }
}

Task<void> Controller::publish_forever() {
    while (!stopping_) {
        auto batch = co_await store_.unpublished(kPublishBatch, in(std::chrono::seconds(30)));
        if (!batch) {
            log::warn("the outbox could not be read", {{"error", batch.error().message()}});
            co_await pause(kPublishRetry);
            continue;
        }
        if (batch->empty()) continue;
        std::vector<domain::Event> events;
        events.reserve(batch->size());
        for (const auto& logged : *batch) events.push_back(logged.event);
        auto accepted = co_await bus_.publish(events, in(kStoreTimeout));
        if (accepted) accepted = co_await store_.published(batch->back().sequence, in(kStoreTimeout));
        if (!accepted) {
            metrics_.publish_failed();
            log::warn("events wait: the bus did not accept them", {{"error", accepted.error().message()}});
            co_await pause(kPublishRetry);
            continue;
        }
        metrics_.events_published(batch->size());
    }
}

}  // namespace sandbox::sandboxd
