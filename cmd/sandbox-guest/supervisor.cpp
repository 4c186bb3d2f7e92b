#include "supervisor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <span>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_tree.hpp"

namespace sandbox::guest {

namespace {

using namespace std::chrono_literals;

Failed failure(const char* what, int error) {
    if (error == EAGAIN || error == ENOMEM)
        return {.kind = Failure::out_of_processes,
                .error = error,
                .what = "the sandbox's process limit is used up: out of processes"};
    return {.kind = Failure::internal, .error = error, .what = std::string(what) + ": " + std::strerror(error)};
}

/// A pipe's two ends; both are closed in programs.
struct Pipe {
    Fd read;
    Fd write;
};

bool open_pipe(Pipe& pipe) {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) return false;
    pipe = {.read = Fd(fds[0]), .write = Fd(fds[1])};
    return true;
}

void dont_block(const Fd& fd) {
    fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

void close_range_of(unsigned first, unsigned last) {
    if (first > last || syscall(SYS_close_range, first, last, 0U) == 0) return;
    // Before Linux 5.9. PID 1's own limit bounds what it can have open.
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (auto fd = first; fd <= last && fd < limit.rlim_cur; ++fd) close(static_cast<int>(fd));
}

void close_all_but(std::array<int, 4> kept) {
    std::ranges::sort(kept);
    unsigned from = 0;
    for (const int fd : kept) {
        if (fd < 0) continue;
        if (fd > 0) close_range_of(from, static_cast<unsigned>(fd) - 1);
        from = static_cast<unsigned>(fd) + 1;
    }
    close_range_of(from, ~0U);
}

/// What the main process needs before it becomes its program. The strings behind it are its supervisor's.
struct MainProcess {
    const Program& program;
    const Inheritance& inheritance;
    std::array<int, 3> stdio;
    int control;
    int status_pipe;
};

// In the main process, which borrows its supervisor's memory until then. Does not return.
int become_program(void* given) {
    const auto& main = *static_cast<const MainProcess*>(given);
    setsid();
    send_report(main.control, {.kind = Report::Kind::forked, .number = getpid(), .failed = {}});
    // The pipes' numbers may be among those that are being set, so they are moved out of the way first.
    std::array<int, 3> moved{};
    for (unsigned i = 0; i < 3; ++i) moved[i] = fcntl(main.stdio[i], F_DUPFD_CLOEXEC, 10);
    const int status_pipe = fcntl(main.status_pipe, F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 3; ++i) dup2(moved[static_cast<unsigned>(i)], i);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setrlimit(RLIMIT_NOFILE, &main.inheritance.open_files);
    umask(022);
    write_failure(status_pipe, main.program.run());
    _exit(127);
}

// Starts it without copying this process, whose memory it uses while this process stands still.
pid_t start_main(MainProcess main) {
    alignas(16) static std::array<char, std::size_t{128} * 1024> stack;
    return clone(become_program, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &main);
}

/// The supervisor itself, from fork to _exit.
class Supervisor {
public:
    Supervisor(Fd control, const Inheritance& inheritance) : control_(std::move(control)), inheritance_(inheritance) {}

    /// Without a start it is a spare one.
    [[noreturn]] void run(const Start* start, std::array<Fd, 3> stdio) {
        close_all_but({control_.get(), stdio[0].get(), stdio[1].get(), stdio[2].get()});
        setsid();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        prctl(PR_GET_NAME, name_.data());
        for (int number = 1; number < NSIG; ++number)
            std::signal(number, SIG_DFL);  // for the program; ours are blocked
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        signals_ = Fd(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
        if (start != nullptr)
            fork_main(*start, std::move(stdio));
        else
            wait_for_start();
        for (;;) turn();
    }

private:
    void fork_main(const Start& start, std::array<Fd, 3> stdio) {
        Pipe status;
        if (!open_pipe(status)) fail(failure("pipe", errno));
        {
            const Program program(start, inheritance_.env);
            main_ = start_main({.program = program,
                                .inheritance = inheritance_,
                                .stdio = {stdio[0].get(), stdio[1].get(), stdio[2].get()},
                                .control = control_.get(),
                                .status_pipe = status.write.get()});
        }
        if (main_ < 0) fail(failure("fork", errno));
        // Now only the command holds them, so that their ends are seen.
        for (auto& fd : stdio) fd.reset();
        status.write.reset();
        read_status(status.read);
    }

    void turn() {
        std::array<pollfd, 2> fds{{{.fd = control_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = signals_.get(), .events = POLLIN, .revents = 0}}};
        if (poll(fds.data(), fds.size(), -1) < 0) return;
        if (fds[1].revents != 0) reap();
        if (fds[0].revents != 0) obey();
    }

    // The main process has become its program (the pipe was closed by that), or says why not.
    void read_status(const Fd& status_pipe) {
        if (const auto failed = read_failure(status_pipe)) fail(*failed);
        send({.kind = Report::Kind::started, .number = 0, .failed = {}});
    }

    void reap() {
        signalfd_siginfo info{};
        while (read(signals_.get(), &info, sizeof info) > 0) continue;
        int status = 0;
        pid_t pid = 0;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) reaped(pid, status);
        if (pid < 0 && errno == ECHILD) be_idle();
    }

    void reaped(pid_t pid, int status) {
        if (pid != main_) return;
        main_ = 0;
        send({.kind = Report::Kind::ended, .number = status, .failed = {}});
    }

    void wait_for_start() {
        idle_ = true;
        buffer_.resize(kMaxGivenStart);
        prctl(PR_SET_NAME, kSpareName);
    }

    // All has been told, and nothing is left to kill.
    void be_idle() {
        if (idle_) return;
        wait_for_start();
        send({.kind = Report::Kind::idle, .number = 0, .failed = {}});
    }

    void obey() {
        auto message = receive(control_, buffer_);
        if (message.is_start()) {
            const auto start = decode_start(message.bytes);
            if (!start) _exit(0);
            prctl(PR_SET_NAME, name_.data());
            idle_ = false;
            fork_main(*start, std::move(message.stdio));
            return;
        }
        if (message.command() != Command::kill) _exit(0);  // to be released, or PID 1 has closed it
        // Whatever can't be killed within this time must not hold up the answer.
        const auto on_reaped = [this](pid_t pid, int status) { reaped(pid, status); };
        const bool cleared = kill_all_below_me(SteadyClock::now() + 800ms, on_reaped);
        if (main_ != 0) on_reaped(main_, SIGKILL);
        send({.kind = Report::Kind::cleared, .number = 0, .failed = {}});
        control_.reset();
        if (!cleared) kill_all_below_me(kNever, [](pid_t, int) {});
        _exit(0);
    }

    void send(const Report& report) { send_report(control_.get(), report); }

    [[noreturn]] void fail(const Failed& failed) {
        send({.kind = Report::Kind::failed, .number = 0, .failed = failed});
        // The main process, if there is one, is about to end; PID 1 reaps it.
        _exit(0);
    }

    Fd control_;
    const Inheritance& inheritance_;
    Fd signals_;
    pid_t main_ = 0;
    bool idle_ = false;
    std::array<char, 16> name_{};                // while it is no spare one
    std::string buffer_ = std::string(1, '\0');  // for a command; once it waits for a start, for that
};

/// A command's ends of its pipes, and PID 1's.
struct Stdio {
    std::array<Fd, 3> theirs;
    Supervised ours;
};

std::optional<Stdio> open_stdio(bool with_input) {
    Pipe input;
    Pipe output;
    Pipe error;
    if (!open_pipe(input) || !open_pipe(output) || !open_pipe(error)) return std::nullopt;
    for (const auto* fd : {&input.write, &output.read, &error.read}) dont_block(*fd);
    if (!with_input) input.write.reset();
    Stdio stdio;
    stdio.theirs = {std::move(input.read), std::move(output.write), std::move(error.write)};
    stdio.ours.input = std::move(input.write);
    stdio.ours.output = std::move(output.read);
    stdio.ours.error = std::move(error.read);
    return stdio;
}

std::expected<Spare, Failed> fork_supervisor(const Start* start, std::array<Fd, 3> stdio,
                                             const Inheritance& inheritance) {
    std::array<int, 2> control{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) != 0)
        return std::unexpected(failure("socketpair", errno));
    Fd ours(control[0]);
    Fd theirs(control[1]);
    const pid_t pid = fork();
    if (pid < 0) return std::unexpected(failure("fork", errno));
    if (pid == 0) Supervisor(std::move(theirs), inheritance).run(start, std::move(stdio));
    dont_block(ours);
    return Spare{.supervisor = pid, .control = std::move(ours)};
}

}  // namespace

std::expected<Supervised, Failed> start_supervisor(const Start& start, const Inheritance& inheritance) {
    auto stdio = open_stdio(start.input);
    if (!stdio) return std::unexpected(failure("pipe", errno));
    auto forked = fork_supervisor(&start, std::move(stdio->theirs), inheritance);
    if (!forked) return std::unexpected(std::move(forked.error()));
    stdio->ours.supervisor = forked->supervisor;
    stdio->ours.control = std::move(forked->control);
    return std::move(stdio->ours);
}

std::expected<Spare, Failed> start_spare_supervisor(const Inheritance& inheritance) {
    return fork_supervisor(nullptr, {}, inheritance);
}

std::optional<Supervised> give_start(Spare& spare, const Start& start) {
    const auto bytes = encode_start(start);
    auto stdio = bytes.size() <= kMaxGivenStart ? open_stdio(start.input) : std::nullopt;
    if (!stdio || !send_start(spare.control, bytes, stdio->theirs)) return std::nullopt;
    stdio->ours.supervisor = spare.supervisor;
    stdio->ours.control = std::move(spare.control);
    return std::move(stdio->ours);
}

}  // namespace sandbox::guest
