#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sandbox/guest/credit.hpp>
#include <sandbox/guest/start.hpp>

#include "fd.hpp"
#include "out_queue.hpp"
#include "poller.hpp"

namespace sandbox::guest {

/// What all execs together may hold back of their output. It is the sandbox's memory.
class TailMemory {
public:
    static constexpr std::size_t kMax = std::size_t{8} * 1024 * 1024;

    [[nodiscard]] bool has(std::size_t bytes) const { return taken_ + bytes <= kMax; }
    void take(std::size_t bytes) { taken_ += bytes; }
    void give_back(std::size_t bytes) { taken_ -= bytes; }

private:
    std::size_t taken_ = 0;
};

/// One output stream of an exec, from its pipe to the host. A host that keeps the first and the last of it only (`keep`
/// in the start) is spared what lies between: once its first half has gone, a command that writes faster than the host
/// takes writes into a ring here, whose oldest bytes are skipped, and the host is told how many.
class ExecOutput {
public:
    ExecOutput(Fd pipe, FrameType type, std::uint32_t granted, std::size_t keep, TailMemory& memory)
        : fd_(std::move(pipe)), type_(type), credit_(granted), keep_(keep), memory_(memory) {}
    ~ExecOutput();
    ExecOutput(const ExecOutput&) = delete;
    ExecOutput& operator=(const ExecOutput&) = delete;

    /// The pipe may still have bytes to come.
    [[nodiscard]] bool open() const { return static_cast<bool>(fd_); }
    [[nodiscard]] const Fd& pipe() const { return fd_; }
    void close() { fd_.reset(); }
    /// For whoever goes on reading it.
    [[nodiscard]] Fd let_go() { return std::move(fd_); }

    void grant(std::uint32_t bytes) { credit_.grant(bytes); }
    void forget_credit() { credit_ = SendCredit(); }

    /// The main process has ended: what is in the pipe now is the exec's, whatever comes later.
    void main_ended();
    /// Bytes of it that are still to be read.
    [[nodiscard]] bool has_due() const { return due_ != 0; }
    /// Everything that was read has been passed on.
    [[nodiscard]] bool all_sent() const { return held_ == 0; }

    /// `ended`: nothing more comes, so that what is held goes out now.
    void watch(Poller& poller, const OutQueue& out, bool ended);
    /// Nothing is wanted of it in this turn.
    void dont_watch() { slot_ = Poller::kNone; }
    /// Reads what came, and sends what may be sent. Whether anything came.
    bool handle(const Poller& poller, OutQueue& out, std::uint64_t id, bool ended);
    /// Of the start-up command, which has no host: reads what came into `text`.
    void read_into(const Poller& poller, std::string& text);
    void watch_for_text(Poller& poller) { slot_ = fd_ ? poller.watch(fd_.get(), POLLIN) : Poller::kNone; }

private:
    [[nodiscard]] std::size_t ring_size() const { return keep_ - keep_ / 2; }
    [[nodiscard]] bool may_send(const OutQueue& out) const { return credit_.left() != 0 && out.has_room(); }
    [[nodiscard]] bool may_hold() const;
    [[nodiscard]] TimePoint sends_at(bool ended) const;
    std::ptrdiff_t read_into_ring();
    void send_held(OutQueue& out, std::uint64_t id);
    void took(std::ptrdiff_t count);

    Fd fd_;
    FrameType type_;
    SendCredit credit_;
    std::size_t keep_;
    TailMemory& memory_;
    std::size_t due_ = 0;
    std::uint64_t sent_ = 0;

    std::string ring_;  // ring_size() bytes once something is held
    std::size_t begin_ = 0;
    std::size_t held_ = 0;
    std::uint64_t skipped_ = 0;  // before what is held, and not yet told
    TimePoint last_bytes_{};

    Poller::Slot slot_ = Poller::kNone;
};

/// Bytes in a pipe.
[[nodiscard]] std::size_t bytes_in(const Fd& pipe);

}  // namespace sandbox::guest
