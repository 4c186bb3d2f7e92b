#pragma once

#include <cstddef>

#include "fd.hpp"
#include "poller.hpp"

namespace sandbox::guest {

/// Streams of execs that have ended, which processes left running on purpose still write to. They are read and thrown
/// away, slowly, until their writers end: a server must not die of its next log line because nobody listens any more,
/// and a loud one must not keep the guest busy.
class Leftovers {
public:
    /// With more than this many, the next is closed at once.
    static constexpr std::size_t kMax = 2048;

    Leftovers();

    void add(Fd stream);
    void watch(Poller& poller);
    void handle(const Poller& poller);

    [[nodiscard]] std::size_t size() const { return count_; }

private:
    Fd epoll_;
    Poller::Slot slot_ = Poller::kNone;
    TimePoint next_look_{};
    std::size_t count_ = 0;
};

}  // namespace sandbox::guest
