// What time brings: expiry, lost nodes, leases that ran out, old records.
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

#include "controller.hpp"
#include "limits.hpp"

namespace sandbox::sandboxd {

/// Often enough that a sandbox ends within two seconds of its time.
static constexpr std::chrono::milliseconds kSweepInterval{1000};

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

}  // namespace sandbox::sandboxd
