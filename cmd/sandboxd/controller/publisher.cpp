#include "publisher.hpp"

#include <algorithm>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

#include "limits.hpp"

namespace sandbox::sandboxd {

namespace {

constexpr std::size_t kLargestBatch = 256;
constexpr std::chrono::milliseconds kFirstPause{250};
constexpr std::chrono::milliseconds kLongestPause{4000};
constexpr std::chrono::seconds kBusTimeout{5};  // less than a daemon has to stop
constexpr std::chrono::seconds kOutboxWait{30};
/// Of failures in a row, the first is logged and then one of so many: once a minute or so.
constexpr std::size_t kLogEvery = 15;

}  // namespace

Publisher::Publisher(store::Store& store, events::EventBus& bus, Metrics& metrics)
    : store_(store), bus_(bus), metrics_(metrics), batch_(kLargestBatch), pause_(kFirstPause) {}

void Publisher::note_failure(const Error& error) {
    if (failures_++ % kLogEvery == 0)
        log::warn(
            "events wait: they could not be published",
            {{"bus", std::string(bus_.kind())}, {"failures", std::to_string(failures_)}, {"error", error.message()}});
    metrics_.publish_failed();
    batch_ = std::max<std::size_t>(batch_ / 4, 1);
}

void Publisher::note_success() {
    if (failures_ > 0)
        log::info("events are published again",
                  {{"bus", std::string(bus_.kind())}, {"failures", std::to_string(failures_)}});
    failures_ = 0;
    pause_ = kFirstPause;
    batch_ = std::min(batch_ + batch_ / 8 + 1, kLargestBatch);  // slowly: the next failure costs its whole time
}

Task<Result<std::size_t>> Publisher::publish_some(Deadline wait_until, std::chrono::steady_clock::duration patience) {
    auto batch = co_await store_.unpublished(batch_, wait_until);
    if (!batch) co_return fail(std::move(batch.error()).in("the outbox"));
    if (batch->empty()) co_return std::size_t{0};
    std::vector<domain::Event> events;
    events.reserve(batch->size());
    for (auto& logged : *batch) events.push_back(std::move(logged.event));
    if (auto accepted = co_await bus_.publish(events, in(patience)); !accepted)
        co_return fail(std::move(accepted.error()));
    // Should this fail, they are sent once more: consumers know an event by its event_id.
    if (auto noted = co_await store_.published(batch->back().sequence, in(kStoreTimeout)); !noted)
        co_return fail(std::move(noted.error()).in("the outbox"));
    metrics_.events_published(events.size());
    co_return events.size();
}

Task<void> Publisher::run() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (true) {
        auto published = co_await publish_some(in(kOutboxWait), kBusTimeout);
        if (published) {
            if (*published > 0) note_success();
            continue;
        }
        note_failure(published.error());
        timer.expires_after(pause_);
        pause_ = std::min(pause_ * 2, kLongestPause);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

Task<void> Publisher::flush(Deadline deadline) {
    while (std::chrono::steady_clock::now() < deadline) {
        auto published = co_await publish_some(in({}), deadline - std::chrono::steady_clock::now());
        if (!published) log::warn("the last events were not published", {{"error", published.error().message()}});
        if (!published || *published == 0) co_return;
    }
}

}  // namespace sandbox::sandboxd
