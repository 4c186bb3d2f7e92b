#include "event_feed.hpp"

#include <algorithm>
#include <deque>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>
#include <sandbox/async/signal.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/log.hpp>

namespace sandbox::sandboxd {

namespace {

using Clock = std::chrono::steady_clock;

/// What is kept of the log for those who are nearly at its end.
constexpr std::size_t kRecent = 1024;
/// One piece of a stream.
constexpr std::size_t kPieceBytes = std::size_t{64} * 1024;
/// How long the reading task waits at a time: the longest that it outlives its last follower.
constexpr std::chrono::seconds kReadSlice{5};
constexpr std::chrono::seconds kStoreRetry{1};

constexpr std::string_view kGreeting = ": the event log\nretry: 1000\n\n";
constexpr std::string_view kSignOfLife = ":\n\n";

std::string frame_of(const store::LoggedEvent& logged) {
    return fmt::format("id: {}\ndata: {}\n\n", logged.sequence,
                       dump_json(api::LoggedEvent{logged.sequence, logged.event}));
}

}  // namespace

struct EventFeed::State {
    State(ReadLog read, async::TaskGroup& group, std::chrono::milliseconds beat)
        : read_log(std::move(read)), tasks(group), heartbeat(beat) {}

    struct Entry {
        std::uint64_t sequence;
        std::string tenant;
        std::string frame;
    };

    ReadLog read_log;
    async::TaskGroup& tasks;
    std::chrono::milliseconds heartbeat;
    async::Signal grew;        // or stopping
    std::deque<Entry> recent;  // all of the log after `base` and up to `head`
    std::uint64_t base = 0;
    std::uint64_t head = 0;
    std::uint64_t reader = 0;  // which reading task is the present one
    std::size_t followers = 0;
    bool reading = false;
    bool stopping = false;

    [[nodiscard]] bool covers(std::uint64_t after) const noexcept { return reading && after >= base; }

    /// Nothing was published between `place` and the log's end. A reading that begins beyond it was begun for a
    /// follower who named a number that there is not yet: it is set back.
    static void read_from(const std::shared_ptr<State>& self, std::uint64_t place) {
        if (self->covers(place)) return;
        self->base = self->head = place;
        self->recent.clear();
        self->reading = true;
        self->tasks.spawn("event feed", read(self, ++self->reader));
    }

    static Task<void> read(std::shared_ptr<State> self, std::uint64_t number) {
        while (self->followers > 0 && !self->stopping) {
            const auto asked = self->head;
            auto page = co_await self->read_log({.after = asked, .tenant = {}, .limit = kPage}, in(kReadSlice));
            if (number != self->reader) co_return;  // another reads, from elsewhere
            if (!page) {
                log::debug("the event log could not be read", {{"error", page.error().message()}});
                co_await self->grew.wait(in(kStoreRetry));
                if (number != self->reader) co_return;
                continue;
            }
            self->append(*page);
        }
        self->reading = false;
        self->recent.clear();
    }

    void append(const store::EventPage& page) {
        for (const auto& logged : page.events)
            recent.push_back({logged.sequence, logged.event.tenant, frame_of(logged)});
        head = page.next;
        for (; recent.size() > kRecent; recent.pop_front()) base = recent.front().sequence;
        if (!page.events.empty()) grew.notify_all();
    }

    /// The frames after `after` that are the tenant's, one piece of them at most; `after` moves past what was looked
    /// at.
    [[nodiscard]] std::string take(std::uint64_t& after, const std::optional<std::string>& tenant) const {
        std::string text;
        auto entry = std::ranges::upper_bound(recent, after, {}, &Entry::sequence);
        for (; entry != recent.end() && text.size() < kPieceBytes; ++entry) {
            if (!tenant || *tenant == entry->tenant) text += entry->frame;
            after = entry->sequence;
        }
        if (entry == recent.end()) after = std::max(after, head);
        return text;
    }

    /// One who follows, for as long as his stream lives.
    struct Follower {
        explicit Follower(std::shared_ptr<State> s) : state(std::move(s)) { ++state->followers; }
        Follower(const Follower&) = delete;
        Follower& operator=(const Follower&) = delete;
        ~Follower() { --state->followers; }
        std::shared_ptr<State> state;
    };

    static Task<void> follow(std::shared_ptr<State> self, http::BodyWriter& to, std::optional<std::string> tenant,
                             store::EventPage page) {
        const Follower follower(self);
        std::string text(kGreeting);
        std::uint64_t after = 0;
        const auto take_page = [&](const store::EventPage& read) {
            for (const auto& logged : read.events) text += frame_of(logged);
            after = read.next;
            if (read.events.size() < kPage) read_from(self, after);
        };
        take_page(page);
        auto sign_due = Clock::now();
        while (true) {
            if (!text.empty()) {
                auto written = co_await to.write(text);
                if (!written) co_return;
                text.clear();
                sign_due = in(self->heartbeat);
            }
            if (self->stopping) co_return;
            if (self->covers(after)) {
                text = self->take(after, tenant);
                if (text.empty()) co_await self->grew.wait(sign_due);
            } else {
                auto read = co_await self->read_log({.after = after, .tenant = tenant, .limit = kPage}, in({}));
                if (read)
                    take_page(*read);
                else
                    co_await self->grew.wait(std::min(sign_due, in(kStoreRetry)));
            }
            if (text.empty() && Clock::now() >= sign_due) text = kSignOfLife;
        }
    }
};

EventFeed::EventFeed(ReadLog read_log, async::TaskGroup& tasks, std::chrono::milliseconds heartbeat)
    : state_(std::make_shared<State>(std::move(read_log), tasks, heartbeat)) {}

Task<void> EventFeed::follow(http::BodyWriter& to, std::optional<std::string> tenant, store::EventPage first) {
    return State::follow(state_, to, std::move(tenant), std::move(first));
}

void EventFeed::stop() {
    state_->stopping = true;
    state_->grew.notify_all();
}

std::size_t EventFeed::followers() const noexcept {
    return state_->followers;
}

}  // namespace sandbox::sandboxd
