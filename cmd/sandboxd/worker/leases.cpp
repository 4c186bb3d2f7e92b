#include "leases.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

#include "backoff.hpp"

namespace sandbox::sandboxd {
namespace {

constexpr int kWaitSeconds = 30;
constexpr auto kAnswerWithin = std::chrono::seconds(kWaitSeconds + 10);
// After an answer that tells only what is in hand already. (The client itself holds empty answers back that come sooner
// than asked for, from controllers that ignore wait_seconds.)
constexpr auto kPauseForNothingNew = std::chrono::milliseconds(500);
constexpr auto kPauseWhenFull = std::chrono::milliseconds(1000);
constexpr std::size_t kMostAtOnce = 100;
// Of the executor, from accept() until a command's start is written to its guest.
constexpr int kTurnsToBegin = 4;

}  // namespace

Leases::Leases(domain::NodeId node, client::WorkerClient& client, SandboxQueue& queue, Random& random)
    : node_(node), client_(client), queue_(queue), random_(random) {}

Task<void> Leases::run() {
    Backoff backoff(random_);
    while (true) {
        const auto room = queue_.room();
        // Without room too: a delete must reach its sandbox behind any number of commands.
        const auto limit = room > 0 ? std::min(room, kMostAtOnce) : kMostAtOnce;
        auto answer = co_await client_.lease(node_, static_cast<std::int64_t>(limit), kWaitSeconds, in(kAnswerWithin));
        if (!answer) {
            log::debug("no work could be leased; trying again", {{"error", answer.error().error.message()}});
            if (answer.error().status == 404 && on_unknown_node) on_unknown_node();
            co_await pause(backoff.next());
            continue;
        }
        backoff.reset();
        const bool empty = answer->assignments.empty() && answer->cancel.empty();
        const bool anything_new = co_await take(std::move(*answer));
        // What has come goes to its sandboxes before the next question goes to the controller.
        for (int turn = 0; turn < kTurnsToBegin; ++turn)
            co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        if (room == 0)
            co_await pause(kPauseWhenFull);
        else if (!anything_new && !empty)
            co_await pause(kPauseForNothingNew);
    }
}

Task<bool> Leases::take(api::LeaseAnswer answer) {
    bool anything_new = false;
    for (const auto& operation : answer.cancel) anything_new |= queue_.cancel(operation);
    std::vector<domain::AssignmentId> too_much;
    for (auto& assignment : answer.assignments) {
        const bool is_delete = std::holds_alternative<domain::DeleteWork>(assignment.kind);
        if (!is_delete && queue_.room() == 0 && can_hand_back_)
            too_much.push_back(assignment.id);
        else
            anything_new |= queue_.accept(std::move(assignment));
    }
    if (!too_much.empty()) co_await hand_back(std::move(too_much), in(std::chrono::seconds(5)));
    co_return anything_new;
}

Task<void> Leases::hand_back(std::vector<domain::AssignmentId> ids, Deadline deadline) {
    if (ids.empty() || !can_hand_back_) co_return;
    const auto answer = co_await client_.release(ids, deadline);
    if (answer) co_return;
    if (answer.error().status == 404 || answer.error().status == 405) can_hand_back_ = false;
    log::warn("leases could not be handed back; they run out by themselves",
              {{"leases", std::to_string(ids.size())}, {"error", answer.error().error.message()}});
}

Task<void> Leases::pause(std::chrono::milliseconds time) {
    co_await never_.wait(in(time));
}

}  // namespace sandbox::sandboxd
