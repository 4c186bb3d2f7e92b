#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sandbox/async/task_group.hpp>
#include <sandbox/http/message.hpp>
#include <sandbox/store/store.hpp>

namespace sandbox::sandboxd {

/// The event log as server-sent events, for any number of followers. The log's growth is read once for all of them, by
/// a task that runs while there are any; who is behind what is kept of it here reads for himself until he has caught
/// up. So a slow reader holds one page, not the others. Lives on the io thread; the tasks must outlive it.
class EventFeed {
public:
    /// As Store::events.
    using ReadLog = std::function<Task<Result<store::EventPage>>(store::EventFilter, Deadline)>;
    /// `heartbeat` is well below the idle time of common proxies.
    EventFeed(ReadLog read_log, async::TaskGroup& tasks,
              std::chrono::milliseconds heartbeat = std::chrono::seconds(15));

    /// Events of one reading, for a follower and for the log's readers alike.
    static constexpr std::size_t kPage = 256;

    /// Writes `first`, which was read with kPage as its limit, and what comes after it, and a comment now and then so
    /// that both sides notice when the other is gone. Returns when the reader takes no more, or at stop().
    [[nodiscard]] Task<void> follow(http::BodyWriter& to, std::optional<std::string> tenant, store::EventPage first);
    /// Followers end, from now on.
    void stop();
    [[nodiscard]] std::size_t followers() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace sandbox::sandboxd
