#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sandbox/guest/credit.hpp>
#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/start.hpp>

#include "exec_output.hpp"
#include "leftovers.hpp"
#include "limits.hpp"
#include "lingering.hpp"
#include "out_queue.hpp"
#include "poller.hpp"
#include "supervisor.hpp"

namespace sandbox::guest {

/// One running command as PID 1 sees it: its pipes, its supervisor, its time limit. Lives from the fork to the answer.
/// With id 0 it is the start-up command, whose output goes into a short tail and not to the host.
class Exec {
public:
    Exec(std::uint64_t id, Supervised supervised, const Start& start, Limits::Counts counts, TailMemory& tail_memory);

    [[nodiscard]] std::uint64_t id() const { return id_; }
    /// Its program runs, or has run.
    [[nodiscard]] bool started() const { return started_; }

    // From the host.
    void input(std::string_view bytes, OutQueue& out);
    void end_of_input();
    void credit(const Credit& credit);
    void kill_by_host();
    /// The host is gone, and with it what it had granted.
    void forget_credit();

    // From the event loop.
    void watch(Poller& poller, const OutQueue& out);
    void handle(const Poller& poller, OutQueue& out);
    /// PID 1 has reaped this process. It may be the main process, when its supervisor has been killed.
    void reaped(pid_t pid, int status, OutQueue& out);
    [[nodiscard]] pid_t supervisor() const { return supervisor_; }

    /// How it ended, once that is known and its output has been passed on.
    struct Answer {
        std::optional<Failed> failed;
        Exited exited;
    };
    [[nodiscard]] std::optional<Answer> answer(const Limits& limits);
    /// After the answer: lets go of what still runs. Its supervisor, when nothing does.
    [[nodiscard]] std::optional<Spare> let_go(Lingering& lingering, Leftovers& leftovers);

    [[nodiscard]] const std::string& tail() const { return tail_; }

private:
    enum class KillReason { none, time_limit, host, fork_bomb };

    void read_reports(OutQueue& out);
    void take(const Report& report, OutQueue& out);
    void main_ended(int status);
    void supervisor_gone(OutQueue& out);
    void has_started(OutQueue& out);
    void kill(KillReason reason);
    [[nodiscard]] bool left_a_fork_bomb(const Limits& limits, bool refused) const;
    void write_input(OutQueue& out);
    bool settled(ExecOutput& output, TimePoint now);
    [[nodiscard]] TimePoint waits_for_output_until(TimePoint now) const;

    std::uint64_t id_;
    pid_t supervisor_;  // 0 once it is gone
    pid_t main_ = 0;    // 0 before it is known and once it has ended
    bool supervisor_reaped_ = false;
    bool supervisor_idle_ = false;
    std::optional<int> orphan_status_;
    bool started_ = false;
    Fd control_;
    Fd input_;
    ExecOutput output_;
    ExecOutput error_;
    std::string tail_;

    std::string pending_input_;
    ReceiveCredit input_credit_{kInputWindow};
    bool input_ended_ = false;

    TimePoint deadline_;
    KillReason kill_reason_ = KillReason::none;
    TimePoint killed_at_{};
    bool cleared_ = false;
    std::optional<int> status_;
    std::optional<Failed> failed_;
    TimePoint ended_at_{};
    TimePoint last_output_{};
    Limits::Counts counts_before_;

    Poller::Slot control_slot_ = Poller::kNone;
    Poller::Slot input_slot_ = Poller::kNone;
};

}  // namespace sandbox::guest
