// Following the event log: over broken connections and restarts of the server, after the last number that was seen.
#include "follow.hpp"

#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/async/first_of.hpp>

namespace sandbox::client {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kFirstPause = 250ms;
constexpr std::chrono::milliseconds kLongestPause = 5s;

/// Returns when nothing was heard for so long.
Task<void> silence(const Clock::time_point& last_heard, std::chrono::milliseconds limit) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (Clock::now() - last_heard < limit) {
        timer.expires_at(last_heard + limit);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

Failure away(std::string message, unsigned status = 0) {
    return {.error = Error(Code::unavailable, std::move(message)), .code = "", .request_id = "", .status = status};
}

}  // namespace

Follower::Follower(Caller& caller, EventQuery query, Following following)
    : caller_(caller), query_(std::move(query)), following_(std::move(following)) {}

bool Follower::take(std::string_view bytes) {
    last_heard_ = Clock::now();
    heard_ = true;
    if (away_ && following_.on_back) following_.on_back();
    away_ = false;
    auto more = stream_.put(bytes, [this](std::string_view data) {
        auto logged = api::read_logged_event(data);
        if (!logged) {
            problem_ = std::move(logged.error());
            return false;
        }
        if (logged->sequence <= query_.after) return true;
        query_.after = logged->sequence;
        return following_.on_event(*logged);
    });
    if (!more) problem_ = std::move(more.error());
    return more.value_or(false) && !problem_;
}

Task<Answer<bool>> Follower::one_stream() {
    http::Query query{{"follow", "true"}, {"after", std::to_string(query_.after)}};
    if (query_.tenant) query.emplace_back("tenant", *query_.tenant);
    stream_ = {};
    heard_ = false;
    last_heard_ = Clock::now();
    bool wanted = true;
    const auto on_data = [this, &wanted](std::string_view bytes) {
        wanted = take(bytes);
        return wanted;
    };
    auto first = co_await async::first_of(caller_.stream({.target = with_query("/v1/events", query)}, on_data),
                                          silence(last_heard_, following_.silence));
    if (problem_)
        co_return std::unexpected(away("the server's events could not be understood: " + problem_->message(), 200));
    if (!wanted) co_return false;
    if (first.index() == 1) co_return std::unexpected(away("the server has fallen silent"));
    auto& answer = std::get<0>(first);
    if (!answer) co_return std::unexpected(std::move(answer.error()));
    const auto* type = answer->headers.find("Content-Type");
    if (!type || !type->starts_with("text/event-stream"))
        co_return std::unexpected(away("the server's answer is no event stream", 200));
    co_return true;
}

Task<Answer<void>> Follower::run() {
    std::chrono::milliseconds pause = kFirstPause;
    bool ever_heard = false;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (true) {
        auto goes_on = co_await one_stream();
        if (goes_on && !*goes_on) co_return Answer<void>{};
        ever_heard = ever_heard || heard_;
        if (!goes_on && (!ever_heard || !is_passing(goes_on.error())))
            co_return std::unexpected(std::move(goes_on.error()));
        if (!std::exchange(away_, true) && following_.on_away)
            following_.on_away(goes_on ? away("the server has ended the stream") : goes_on.error());
        pause = heard_ ? kFirstPause : std::min(pause * 2, kLongestPause);
        timer.expires_after(pause);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

}  // namespace sandbox::client
