#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/signalfd.h>

#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/reader.hpp>
#include <sandbox/guest/start.hpp>

#include "connection.hpp"
#include "exec.hpp"
#include "leftovers.hpp"
#include "limits.hpp"
#include "lingering.hpp"
#include "oom_shield.hpp"
#include "out_queue.hpp"
#include "poller.hpp"
#include "supervisor.hpp"

namespace sandbox::guest {

/// PID 1 of a sandbox: serves one host at a time over two streams that don't block, and reaps whatever is left to it.
/// One thread, one loop; nothing in it waits but poll().
class Guest {
public:
    Guest(Fd from_host, Fd to_host, Inheritance inheritance);

    /// Until somebody outside the sandbox sends SIGTERM.
    void run();

private:
    void watch();
    void read_host();
    void write_host();
    void handle(const Frame& frame);
    void handle_exec(Exec& exec, const Frame& frame);
    void handle_connection(const Frame& frame);
    void open_session(const HostHello& hello);
    void forget_session();

    void start(std::uint64_t id, const std::expected<Start, StartError>& start);
    void start_command(const std::expected<Start, StartError>& start);
    void answer(std::uint64_t id, const Exec::Answer& answer);
    void command_ended(const Exec::Answer& answer);
    [[nodiscard]] std::unique_ptr<Exec> launch(std::uint64_t id, const std::expected<Start, StartError>& start,
                                               Failed& failed);
    void report_command();
    void prepare_spare();
    void let_go(Exec& exec);

    void read_signals();
    void reap();
    void turn_execs();
    void turn_connections();

    Fd from_host_;
    Fd to_host_;
    Fd signals_;
    Inheritance inheritance_;
    Limits limits_;
    OomShield oom_shield_;

    Poller poller_;
    GuestReader reader_;
    OutQueue out_;
    StartAssembly assembly_;
    bool attached_ = false;
    bool asked_to_end_ = false;
    TimePoint host_back_at_{};  // when the stream from the host had ended, the next look at it

    TailMemory tail_memory_;
    std::map<std::uint64_t, std::unique_ptr<Exec>> execs_;
    std::uint64_t served_first_ = 0;
    std::map<std::uint64_t, std::string> unacknowledged_;  // the answers' frames
    std::map<std::uint64_t, Connection> connections_;
    Leftovers leftovers_;
    Lingering lingering_;

    // The next start's. The supervisor of a command that has ended, as a rule; one is forked when none comes in time.
    std::optional<Spare> spare_;
    TimePoint fork_spare_at_ = kNever;

    std::unique_ptr<Exec> command_;
    CommandStatus command_status_;

    Poller::Slot signal_slot_ = Poller::kNone;
    Poller::Slot from_slot_ = Poller::kNone;
    Poller::Slot to_slot_ = Poller::kNone;
};

}  // namespace sandbox::guest
