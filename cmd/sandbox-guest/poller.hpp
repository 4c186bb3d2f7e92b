#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <vector>

namespace sandbox::guest {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;
inline constexpr TimePoint kNever = TimePoint::max();

/// What one turn of the event loop waits for. Everybody says anew in each turn what they want to know.
class Poller {
public:
    using Slot = std::size_t;
    static constexpr Slot kNone = SIZE_MAX;

    void clear() {
        fds_.clear();
        wake_at_ = kNever;
    }
    Slot watch(int fd, short events) {
        fds_.push_back({.fd = fd, .events = events, .revents = 0});
        return fds_.size() - 1;
    }
    void wake_at(TimePoint when) { wake_at_ = std::min(wake_at_, when); }

    void wait() {
        int timeout = -1;
        if (wake_at_ != kNever) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake_at_ - SteadyClock::now()).count();
            timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
        }
        if (poll(fds_.data(), fds_.size(), timeout) < 0)
            for (auto& fd : fds_) fd.revents = 0;
    }
    /// What happened there: readable, writable, an end or an error; 0 for kNone.
    [[nodiscard]] short events(Slot slot) const { return slot == kNone ? short{0} : fds_[slot].revents; }

private:
    std::vector<pollfd> fds_;
    TimePoint wake_at_ = kNever;
};

}  // namespace sandbox::guest
