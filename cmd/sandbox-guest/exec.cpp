#include "exec.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "process_tree.hpp"

namespace sandbox::guest {

namespace {

using namespace std::chrono_literals;

// How long an ended command's output is waited for when some child still holds its pipes: in all, and since the last
// byte came.
constexpr auto kGrace = 200ms;
constexpr auto kQuiet = 100ms;
// After a kill: until the supervisor must have reported, and until a host that grants no credit is not waited for.
constexpr auto kKillAnswer = 950ms;
constexpr auto kKillPatience = 500ms;
constexpr std::uint64_t kLongestLimitMs = 366ULL * 24 * 3600 * 1000;

bool at_its_end(const Fd& pipe) {
    pollfd fd{.fd = pipe.get(), .events = 0, .revents = 0};
    return poll(&fd, 1, 0) == 1 && (fd.revents & POLLHUP) != 0 && bytes_in(pipe) == 0;
}

// Whether a child of ours with that pid is there, running or ended.
bool is_my_child(pid_t pid) {
    siginfo_t info{};
    return pid > 0 && waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool rose(std::optional<std::uint64_t> before, std::optional<std::uint64_t> now) {
    return before && now && *now > *before;
}

}  // namespace

Exec::Exec(std::uint64_t id, Supervised supervised, const Start& start, Limits::Counts counts, TailMemory& tail_memory)
    : id_(id),
      supervisor_(supervised.supervisor),
      control_(std::move(supervised.control)),
      input_(std::move(supervised.input)),
      output_(std::move(supervised.output), FrameType::output, start.output_credit, start.keep, tail_memory),
      error_(std::move(supervised.error), FrameType::error_output, start.error_credit, start.keep, tail_memory),
      deadline_(kNever),
      counts_before_(counts) {
    if (start.time_limit_ms != 0)
        deadline_ = SteadyClock::now() + std::chrono::milliseconds(std::min(start.time_limit_ms, kLongestLimitMs));
}

void Exec::input(std::string_view bytes, OutQueue& out) {
    if (input_ended_) return;
    if (!input_credit_.receive(bytes.size())) {
        // More than was granted: this host is wrong, and memory stays bounded.
        end_of_input();
        return;
    }
    pending_input_.append(bytes);
    write_input(out);
}

void Exec::end_of_input() {
    input_ended_ = true;
    if (pending_input_.empty()) input_.reset();
}

// What the command does not read waits in the pipe and here; what it can't read any more is thrown away, so that a host
// never waits for it.
void Exec::write_input(OutQueue& out) {
    std::size_t done = 0;
    while (done < pending_input_.size()) {
        const auto count =
            input_ ? write(input_.get(), pending_input_.data() + done, pending_input_.size() - done) : ssize_t{-1};
        if (count > 0) {
            done += static_cast<std::size_t>(count);
        } else if (input_ && errno == EINTR) {
            continue;
        } else if (input_ && errno == EAGAIN) {
            break;
        } else {
            input_.reset();
            done = pending_input_.size();
        }
    }
    pending_input_.erase(0, done);
    if (const auto granted = input_credit_.consume(done); granted != 0)
        append_credit(out.bytes(), id_, {.stream = Stream::input, .bytes = granted});
    if (pending_input_.empty() && input_ended_) input_.reset();
}

void Exec::credit(const Credit& credit) {
    if (credit.stream == Stream::output) output_.grant(credit.bytes);
    if (credit.stream == Stream::error) error_.grant(credit.bytes);
}

void Exec::forget_credit() {
    output_.forget_credit();
    error_.forget_credit();
}

void Exec::kill_by_host() {
    kill(KillReason::host);
}

void Exec::kill(KillReason reason) {
    if (kill_reason_ != KillReason::none) return;
    kill_reason_ = reason;
    killed_at_ = SteadyClock::now();
    if (supervisor_ != 0) send_command(control_, Command::kill);
}

void Exec::watch(Poller& poller, const OutQueue& out) {
    control_slot_ = control_ ? poller.watch(control_.get(), POLLIN) : Poller::kNone;
    input_slot_ = input_ && !pending_input_.empty() ? poller.watch(input_.get(), POLLOUT) : Poller::kNone;
    for (auto* output : {&output_, &error_}) {
        output->dont_watch();
        if (id_ == 0)
            output->watch_for_text(poller);
        else if (started_ || status_)  // not before, so that it comes first; one that was killed before is silent
            output->watch(poller, out, status_.has_value());
    }
    if (!status_ && kill_reason_ == KillReason::none) poller.wake_at(deadline_);
    if (kill_reason_ != KillReason::none) {
        if (supervisor_ == 0 && !status_) poller.wake_at(SteadyClock::now() + 5ms);
        if (supervisor_ != 0 && !status_ && SteadyClock::now() >= killed_at_ + kKillAnswer)
            poller.wake_at(SteadyClock::now() + 50ms);
        for (const auto patience : {kKillPatience, std::chrono::milliseconds(kKillAnswer)})
            if (SteadyClock::now() < killed_at_ + patience) poller.wake_at(killed_at_ + patience);
    }
    if (status_) {
        const auto now = SteadyClock::now();
        if (const auto when = waits_for_output_until(now); when > now) poller.wake_at(when);
    }
}

void Exec::handle(const Poller& poller, OutQueue& out) {
    if (poller.events(control_slot_) != 0) read_reports(out);
    if (!control_ && supervisor_reaped_ && supervisor_ != 0) supervisor_gone(out);
    if (poller.events(input_slot_) != 0) write_input(out);
    for (auto* output : {&output_, &error_}) {
        if (id_ == 0)
            output->read_into(poller, tail_);
        else if (output->handle(poller, out, id_, status_.has_value()))
            last_output_ = SteadyClock::now();
    }
    if (tail_.size() > kCommandTail) tail_.erase(0, tail_.size() - kCommandTail);
    const auto now = SteadyClock::now();
    if (!status_ && !failed_ && now >= deadline_) kill(KillReason::time_limit);
    if (kill_reason_ == KillReason::none || status_) return;
    // Without a supervisor it is on us, a look at a time so that the others don't wait. So it is with one that does not
    // answer: a process of the sandbox may have stopped it, or the main process before it was a program.
    if (supervisor_ == 0 && main_ != 0) kill_tree_once(main_);
    if (supervisor_ != 0 && now >= killed_at_ + kKillAnswer) kill_tree_once(supervisor_);
}

void Exec::read_reports(OutQueue& out) {
    while (control_) {
        const auto report = read_report(control_);
        if (!report && report.error() == NoReport::yet) return;
        if (!report)
            control_.reset();
        else
            take(*report, out);
    }
}

void Exec::take(const Report& report, OutQueue& out) {
    switch (report.kind) {
        case Report::Kind::forked:
            main_ = report.number;
            break;
        case Report::Kind::started:
            has_started(out);
            break;
        case Report::Kind::failed:
            failed_ = report.failed;
            break;
        case Report::Kind::ended:
            main_ended(report.number);
            break;
        case Report::Kind::cleared:
            cleared_ = true;
            break;
        case Report::Kind::idle:
            supervisor_idle_ = true;
            break;
    }
}

void Exec::has_started(OutQueue& out) {
    started_ = true;
    append_frame(out.bytes(), FrameType::started, id_);
}

void Exec::main_ended(int status) {
    status_ = status;
    main_ = 0;
    ended_at_ = last_output_ = SteadyClock::now();
    for (auto* output : {&output_, &error_}) output->main_ended();
}

void Exec::reaped(pid_t pid, int status, OutQueue& out) {
    supervisor_reaped_ = supervisor_reaped_ || pid == supervisor_;
    if (main_ == 0) read_reports(out);  // its pid may still be on its way to us
    if (pid != main_ || status_) return;
    if (supervisor_ == 0)
        main_ended(status);
    else
        orphan_status_ = status;  // that its supervisor is gone shows next
}

// A process of the sandbox can kill the supervisor, as it can kill any of its own. The main process is PID 1's child
// then, and PID 1 waits for it; without one, nobody knows how it ended. Whose child it is can be asked once the
// supervisor has been reaped: its descriptors are closed before its children are handed on.
void Exec::supervisor_gone(OutQueue& out) {
    supervisor_ = 0;
    if (status_ || failed_) return;
    if (orphan_status_) {
        main_ended(*orphan_status_);
    } else if (is_my_child(main_)) {
        if (!started_) has_started(out);
    } else {
        failed_ = {.kind = Failure::internal,
                   .error = 0,
                   .what = "the supervisor of the command was killed from inside the sandbox"};
    }
}

TimePoint Exec::waits_for_output_until(TimePoint now) const {
    auto from = ended_at_;
    if (kill_reason_ != KillReason::none && !cleared_ && supervisor_ != 0) from = now;
    return std::min(from + kGrace, std::max(from, last_output_) + kQuiet);
}

bool Exec::settled(ExecOutput& output, TimePoint now) {
    if (!output.has_due() && output.open() && at_its_end(output.pipe())) output.close();
    const bool all_passed_on = !output.has_due() && output.all_sent();
    if (!all_passed_on) return kill_reason_ == KillReason::host && now >= killed_at_ + kKillPatience;
    return !output.open() || now >= waits_for_output_until(now);
}

std::optional<Exec::Answer> Exec::answer(const Limits& limits) {
    if (failed_) return Answer{.failed = failed_, .exited = {}};
    if (!status_) return std::nullopt;
    const auto now = SteadyClock::now();
    const bool killing = kill_reason_ != KillReason::none && supervisor_ != 0 && !cleared_;
    if (killing && now < killed_at_ + kKillAnswer) return std::nullopt;
    if (!settled(output_, now) || !settled(error_, now)) return std::nullopt;

    const auto counts = limits.counts();
    Exited exited;
    exited.oom_killed = rose(counts_before_.oom_kills, counts.oom_kills);
    exited.out_of_processes = rose(counts_before_.refused_processes, counts.refused_processes);
    if (left_a_fork_bomb(limits, exited.out_of_processes)) {
        // First the tree, then the answer: whoever sees it may start something.
        kill(KillReason::fork_bomb);
        return std::nullopt;
    }
    if (WIFSIGNALED(*status_))
        exited.signal = static_cast<std::uint8_t>(WTERMSIG(*status_));
    else
        exited.code = static_cast<std::uint8_t>(WEXITSTATUS(*status_));
    exited.timed_out = kill_reason_ == KillReason::time_limit && exited.signal == SIGKILL;
    exited.killed = kill_reason_ == KillReason::host && exited.signal == SIGKILL;
    return Answer{.failed = std::nullopt, .exited = exited};
}

// A tree that fills the process limit when its main process has ended is no server left running on purpose.
bool Exec::left_a_fork_bomb(const Limits& limits, bool refused) const {
    if (!refused || supervisor_ == 0 || kill_reason_ != KillReason::none) return false;
    return limits.filled_by(descendants_of(supervisor_, list_processes()).size());
}

std::optional<Spare> Exec::let_go(Lingering& lingering, Leftovers& leftovers) {
    if (!failed_) {
        leftovers.add(output_.let_go());
        leftovers.add(error_.let_go());
    }
    if (supervisor_ == 0 || !control_) return std::nullopt;
    // One that is to kill ends after that.
    if (supervisor_idle_ && kill_reason_ == KillReason::none)
        return Spare{.supervisor = supervisor_, .control = std::move(control_)};
    lingering.add(supervisor_, std::move(control_), counts_before_.refused_processes);
    return std::nullopt;
}

}  // namespace sandbox::guest
