#include "guest.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sandbox::guest {

namespace {

using namespace std::chrono_literals;

// Above this, no more is read from a host that does not read.
constexpr std::size_t kMuchUnsent = std::size_t{1024} * 1024;
// A spare supervisor is no reason for a command to run out of processes.
constexpr std::size_t kRoomForSpare = 16;
// Within which the supervisor of a command that has ended and left nothing is a spare one.
constexpr auto kSpareComesBack = 200ms;

Fd take_signals() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    return Fd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

void dont_block(const Fd& fd) {
    fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

Guest::Guest(Fd from_host, Fd to_host, Inheritance inheritance)
    : from_host_(std::move(from_host)),
      to_host_(std::move(to_host)),
      signals_(take_signals()),
      inheritance_(std::move(inheritance)) {
    dont_block(from_host_);
    dont_block(to_host_);
}

void Guest::run() {
    while (!asked_to_end_) {
        watch();
        poller_.wait();
        if (poller_.events(signal_slot_) != 0) read_signals();
        if (poller_.events(from_slot_) != 0) read_host();
        turn_connections();
        turn_execs();
        leftovers_.handle(poller_);
        lingering_.handle(poller_, limits_);
        write_host();
        prepare_spare();
    }
}

void Guest::watch() {
    poller_.clear();
    signal_slot_ = poller_.watch(signals_.get(), POLLIN);
    from_slot_ = Poller::kNone;
    if (SteadyClock::now() < host_back_at_)
        poller_.wake_at(host_back_at_);
    else if (out_.size() < kMuchUnsent)
        from_slot_ = poller_.watch(from_host_.get(), POLLIN);
    to_slot_ = out_.empty() ? Poller::kNone : poller_.watch(to_host_.get(), POLLOUT);
    for (auto& [id, exec] : execs_) exec->watch(poller_, out_);
    if (command_) command_->watch(poller_, out_);
    for (auto& [id, connection] : connections_) connection.watch(poller_, out_);
    leftovers_.watch(poller_);
    lingering_.watch(poller_);
    if (!spare_) poller_.wake_at(fork_spare_at_);
}

void Guest::read_host() {
    const auto room = reader_.prepare();
    const auto count = read(from_host_.get(), room.data(), room.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        // Nobody has the other end now; on some streams (a virtio port) somebody may again.
        host_back_at_ = SteadyClock::now() + 200ms;
        return;
    }
    reader_.commit(static_cast<std::size_t>(count));
    while (const auto frame = reader_.next()) handle(*frame);
}

void Guest::write_host() {
    if (out_.empty() || out_.write_to(to_host_.get())) return;
    forget_session();
    attached_ = false;
}

void Guest::handle(const Frame& frame) {
    if (frame.type == FrameType::hello) {
        if (const auto hello = decode_host_hello(frame.payload)) open_session(*hello);
        return;
    }
    if (!attached_) return;
    switch (frame.type) {
        case FrameType::start_part:
            assembly_.add(frame.id, frame.payload);
            break;
        case FrameType::start:
            start(frame.id, assembly_.finish(frame.id, frame.payload));
            break;
        case FrameType::start_command:
            start_command(assembly_.finish(0, frame.payload));
            break;
        case FrameType::query_command:
            report_command();
            break;
        case FrameType::ack:
            unacknowledged_.erase(frame.id);
            break;
        case FrameType::input:
        case FrameType::end_of_input:
        case FrameType::kill:
            if (const auto exec = execs_.find(frame.id); exec != execs_.end()) handle_exec(*exec->second, frame);
            break;
        case FrameType::credit:
            if (const auto credit = decode_credit(frame.payload)) {
                if (credit->stream == Stream::connection)
                    handle_connection(frame);
                else if (const auto exec = execs_.find(frame.id); exec != execs_.end())
                    exec->second->credit(*credit);
            }
            break;
        default:
            handle_connection(frame);
    }
}

void Guest::handle_exec(Exec& exec, const Frame& frame) {
    if (frame.type == FrameType::input) exec.input(frame.payload, out_);
    if (frame.type == FrameType::end_of_input) exec.end_of_input();
    if (frame.type == FrameType::kill) exec.kill_by_host();
}

void Guest::handle_connection(const Frame& frame) {
    const auto found = connections_.find(frame.id);
    if (frame.type == FrameType::dial) {
        const auto dial = decode_dial(frame.payload);
        if (!dial || found != connections_.end()) return;
        if (connections_.size() < kMaxConnections)
            connections_.try_emplace(frame.id, frame.id, *dial);
        else
            append_close(out_.bytes(), frame.id, {.error = EMFILE});
        return;
    }
    if (found == connections_.end()) return;
    auto& connection = found->second;
    if (frame.type == FrameType::data) connection.data(frame.payload, out_);
    if (frame.type == FrameType::end_of_data) connection.end_of_data(out_);
    if (frame.type == FrameType::credit) connection.credit(decode_credit(frame.payload)->bytes);
    if (frame.type == FrameType::close) connections_.erase(found);
}

void Guest::forget_session() {
    out_.clear();
    assembly_.clear();
    connections_.clear();
    for (auto& [id, exec] : execs_) exec->forget_credit();
}

void Guest::open_session(const HostHello& hello) {
    forget_session();
    attached_ = true;
    const auto counts = limits_.counts();
    append_guest_hello(out_.bytes(), {.nonce = hello.nonce,
                                      .uid = geteuid(),
                                      .gid = getegid(),
                                      .workspace_writable = access("/workspace", W_OK) == 0,
                                      .sees_oom_kills = counts.oom_kills.has_value(),
                                      .sees_process_limit = counts.refused_processes.has_value()});
    for (const auto& [id, exec] : execs_) append_frame(out_.bytes(), FrameType::running, id);
    for (const auto& [id, frame] : unacknowledged_) out_.bytes().append(frame);
    if (command_status_.state != CommandStatus::State::none) report_command();
    append_frame(out_.bytes(), FrameType::ready, 0);
    fork_spare_at_ = SteadyClock::now();
}

void Guest::prepare_spare() {
    if (auto idle = lingering_.take_idle(); idle && !spare_) spare_ = std::move(idle);
    if (!spare_ && SteadyClock::now() < fork_spare_at_) return;
    fork_spare_at_ = kNever;
    if (spare_ || !limits_.has_room_for(kRoomForSpare)) return;
    oom_shield_.raise();
    auto spare = start_spare_supervisor(inheritance_);
    oom_shield_.lower();
    if (spare) spare_ = std::move(*spare);
}

// Forks; the exec then says by itself whether its program could be run.
std::unique_ptr<Exec> Guest::launch(std::uint64_t id, const std::expected<Start, StartError>& start, Failed& failed) {
    if (!start) {
        failed = start.error() == StartError::too_long
                     ? Failed{Failure::cannot_run, E2BIG, "the program can't be run: argument list too long"}
                     : Failed{Failure::internal, EPROTO, "the request to start it was malformed"};
        return nullptr;
    }
    const auto counts = limits_.counts();
    if (auto spare = std::exchange(spare_, std::nullopt))
        if (auto supervised = give_start(*spare, *start))
            return std::make_unique<Exec>(id, std::move(*supervised), *start, counts, tail_memory_);
    oom_shield_.raise();
    auto supervised = start_supervisor(*start, inheritance_);
    oom_shield_.lower();
    if (supervised) return std::make_unique<Exec>(id, std::move(*supervised), *start, counts, tail_memory_);
    failed = supervised.error();
    return nullptr;
}

void Guest::start(std::uint64_t id, const std::expected<Start, StartError>& start) {
    // Sent twice, it runs once.
    if (id == 0 || execs_.contains(id) || unacknowledged_.contains(id)) return;
    Failed failed;
    if (unacknowledged_.size() >= kMaxUnacknowledged) {
        // The one answer that is not kept, since there is no room for it.
        failed = {Failure::busy, EBUSY, "too many answers wait for their acknowledgement"};
        append_failed(out_.bytes(), id, failed);
        return;
    }
    if (execs_.size() >= kMaxExecs)
        failed = {Failure::busy, EBUSY, "too many commands run at once"};
    else if (auto exec = launch(id, start, failed))
        execs_.emplace(id, std::move(exec));
    if (!execs_.contains(id)) answer(id, {.failed = failed, .exited = {}});
}

void Guest::answer(std::uint64_t id, const Exec::Answer& answer) {
    std::string frame;
    if (answer.failed)
        append_failed(frame, id, *answer.failed);
    else
        append_exited(frame, id, answer.exited);
    if (attached_) out_.bytes().append(frame);
    unacknowledged_.insert_or_assign(id, std::move(frame));
}

void Guest::start_command(const std::expected<Start, StartError>& start) {
    if (command_status_.state != CommandStatus::State::none) {
        // While it is not known whether its program can be run, that answer will come by itself.
        if (!command_ || command_->started()) append_frame(out_.bytes(), FrameType::started, 0);
        return;
    }
    Failed failed;
    command_ = launch(0, start, failed);
    if (command_)
        command_status_.state = CommandStatus::State::running;
    else
        append_failed(out_.bytes(), 0, failed);
}

void Guest::command_ended(const Exec::Answer& answer) {
    command_status_ = {.state = CommandStatus::State::ended,
                       .code = answer.exited.code,
                       .signal = answer.exited.signal,
                       .tail = command_->tail()};
    if (answer.failed) command_status_ = {};
    if (!attached_) return;
    if (answer.failed)
        append_failed(out_.bytes(), 0, *answer.failed);
    else
        report_command();
}

void Guest::report_command() {
    if (command_) command_status_.tail = command_->tail();
    append_command_status(out_.bytes(), command_status_);
}

void Guest::read_signals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
        // From outside the sandbox the sender's pid is 0; nobody inside can end PID 1.
        if (info.ssi_signo == SIGTERM && info.ssi_pid == 0) asked_to_end_ = true;
    }
    reap();
}

void Guest::reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (WIFSTOPPED(status)) {
            // A supervisor that somebody in the sandbox has stopped would answer to nobody.
            const auto supervises = [&](const auto& entry) { return entry.second->supervisor() == pid; };
            if (std::ranges::any_of(execs_, supervises) || (command_ && command_->supervisor() == pid) ||
                (spare_ && spare_->supervisor == pid))
                kill(pid, SIGCONT);
            continue;
        }
        if (spare_ && spare_->supervisor == pid) spare_.reset();
        for (auto& [id, exec] : execs_) exec->reaped(pid, status, out_);
        if (command_) command_->reaped(pid, status, out_);
    }
}

// Begins with another one each time, so that a loud exec takes the room in the queue from nobody for long.
void Guest::turn_execs() {
    auto next = execs_.upper_bound(served_first_);
    if (next == execs_.end()) next = execs_.begin();
    if (next != execs_.end()) served_first_ = next->first;
    for (std::size_t left = execs_.size(); left > 0; --left) {
        auto& exec = *next->second;
        exec.handle(poller_, out_);
        if (const auto how = exec.answer(limits_)) {
            answer(exec.id(), *how);
            let_go(exec);
            next = execs_.erase(next);
        } else {
            ++next;
        }
        if (next == execs_.end()) next = execs_.begin();
    }
    if (!command_) return;
    command_->handle(poller_, out_);
    if (const auto how = command_->answer(limits_)) {
        command_ended(*how);
        let_go(*command_);
        command_.reset();
    }
}

void Guest::let_go(Exec& exec) {
    auto idle = exec.let_go(lingering_, leftovers_);
    if (idle && !spare_) spare_ = std::move(idle);
    fork_spare_at_ = SteadyClock::now() + kSpareComesBack;
}

void Guest::turn_connections() {
    for (auto at = connections_.begin(); at != connections_.end();) {
        at->second.handle(poller_, out_);
        at = at->second.over() ? connections_.erase(at) : std::next(at);
    }
}

}  // namespace sandbox::guest
