#include "leftovers.hpp"

#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

namespace sandbox::guest {

using namespace std::chrono_literals;

Leftovers::Leftovers() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

void Leftovers::add(Fd stream) {
    if (!stream || count_ >= kMax) return;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = stream.get();
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stream.get(), &event) != 0) return;
    ++count_;
    static_cast<void>(std::move(stream).release());  // epoll has the only list of them
}

void Leftovers::watch(Poller& poller) {
    slot_ = Poller::kNone;
    if (count_ == 0) return;
    // Between two looks the writers wait, so what a loud one costs is bounded: 64 KiB in 20 ms.
    if (SteadyClock::now() < next_look_)
        poller.wake_at(next_look_);
    else
        slot_ = poller.watch(epoll_.get(), POLLIN);
}

void Leftovers::handle(const Poller& poller) {
    if (poller.events(slot_) == 0) return;
    next_look_ = SteadyClock::now() + 20ms;
    std::array<epoll_event, 64> events{};
    const int ready = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    static std::array<char, 65536> thrown_away;
    for (int i = 0; i < ready; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        const auto count = read(fd, thrown_away.data(), thrown_away.size());
        if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) continue;
        // A process that has just been forked may share the pipe for a moment, and closing alone would leave it listed.
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
        close(fd);
        --count_;
    }
}

}  // namespace sandbox::guest
