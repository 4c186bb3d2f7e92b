#include "exec_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/ioctl.h>
#include <unistd.h>

#include <sandbox/guest/messages.hpp>

namespace sandbox::guest {

namespace {

using namespace std::chrono_literals;

// A command that has been too fast is believed to have become slow after a while without a byte of it.
constexpr auto kQuiet = 50ms;

}  // namespace

std::size_t bytes_in(const Fd& pipe) {
    int count = 0;
    if (!pipe || ioctl(pipe.get(), FIONREAD, &count) != 0) return 0;
    return static_cast<std::size_t>(std::max(count, 0));
}

ExecOutput::~ExecOutput() {
    if (!ring_.empty()) memory_.give_back(ring_.size());
}

void ExecOutput::main_ended() {
    due_ = bytes_in(fd_);
}

bool ExecOutput::may_hold() const {
    if (keep_ == 0 || sent_ < keep_ / 2) return false;
    return !ring_.empty() || memory_.has(ring_size());
}

// When what is held may go out, if the host takes it: at once, but not while it would only be in the way of what comes.
TimePoint ExecOutput::sends_at(bool ended) const {
    if (held_ == 0) return kNever;
    const bool too_fast = skipped_ != 0 && open() && !ended;
    return too_fast ? last_bytes_ + kQuiet : TimePoint{};
}

void ExecOutput::watch(Poller& poller, const OutQueue& out, bool ended) {
    const bool straight = held_ == 0 && may_send(out);
    slot_ = fd_ && (straight || may_hold()) ? poller.watch(fd_.get(), POLLIN) : Poller::kNone;
    if (may_send(out)) poller.wake_at(sends_at(ended));
}

bool ExecOutput::handle(const Poller& poller, OutQueue& out, std::uint64_t id, bool ended) {
    std::ptrdiff_t count = 0;
    if (poller.events(slot_) != 0) {
        if (held_ == 0 && may_send(out)) {
            count = out.read_frame(fd_.get(), type_, id, credit_.left());
            if (count > 0) {
                sent_ += static_cast<std::size_t>(count);
                credit_.spend(static_cast<std::size_t>(count));
            }
            took(count);
        } else if (may_hold()) {
            count = read_into_ring();
            took(count);
        }
    }
    if (held_ != 0 && SteadyClock::now() >= sends_at(ended)) send_held(out, id);
    return count > 0;
}

void ExecOutput::read_into(const Poller& poller, std::string& text) {
    if (poller.events(slot_) == 0) return;
    std::array<char, 16384> bytes{};
    const auto count = read(fd_.get(), bytes.data(), bytes.size());
    if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
    took(count);
}

void ExecOutput::took(std::ptrdiff_t count) {
    if (count > 0)
        due_ -= std::min(due_, static_cast<std::size_t>(count));
    else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        fd_.reset();
        due_ = 0;
    }
}

std::ptrdiff_t ExecOutput::read_into_ring() {
    if (ring_.empty()) {
        memory_.take(ring_size());
        ring_.resize(ring_size());
    }
    const auto end = (begin_ + held_) % ring_.size();
    const auto count = read(fd_.get(), ring_.data() + end, std::min(ring_.size() - end, kMaxPayload));
    if (count <= 0) return count;
    last_bytes_ = SteadyClock::now();
    held_ += static_cast<std::size_t>(count);
    if (held_ > ring_.size()) {
        const auto over = held_ - ring_.size();
        skipped_ += over;
        begin_ = (begin_ + over) % ring_.size();
        held_ = ring_.size();
    }
    return count;
}

void ExecOutput::send_held(OutQueue& out, std::uint64_t id) {
    if (!may_send(out)) return;
    if (skipped_ != 0) {
        const auto stream = type_ == FrameType::output ? Stream::output : Stream::error;
        append_skipped(out.bytes(), id, {.stream = stream, .bytes = skipped_});
        skipped_ = 0;
    }
    while (held_ != 0 && may_send(out)) {
        const auto count = std::min({held_, ring_.size() - begin_, credit_.left(), kMaxPayload});
        append_frame(out.bytes(), type_, id, std::string_view(ring_).substr(begin_, count));
        credit_.spend(count);
        sent_ += count;
        begin_ = (begin_ + count) % ring_.size();
        held_ -= count;
    }
}

}  // namespace sandbox::guest
