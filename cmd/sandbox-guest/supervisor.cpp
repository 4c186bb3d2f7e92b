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

/// A report as it goes through the control socket and the status pipe, cut behind `what`.
struct Packet {
    Report::Kind kind{};
    Failure failure{};
    int number = 0;
    std::array<char, kMaxWhat> what{};
};
constexpr std::size_t kPacketHead = offsetof(Packet, what);

// A start that a spare supervisor can be given: one packet of what the socket takes on every system.
constexpr std::size_t kMaxGivenStart = std::size_t{32} * 1024;

struct Packed {
    Packet packet;
    std::size_t size = kPacketHead;
};

Packed pack(const Report& report) {
    Packed packed;
    const bool failed = report.kind == Report::Kind::failed;
    packed.packet.kind = report.kind;
    packed.packet.failure = report.failed.kind;
    packed.packet.number = failed ? report.failed.error : report.number;
    const auto length = std::min(report.failed.what.size(), kMaxWhat);
    std::copy_n(report.failed.what.begin(), length, packed.packet.what.begin());
    packed.size += length;
    return packed;
}

Report unpack(const Packed& packed) {
    Report report{.kind = packed.packet.kind, .number = packed.packet.number, .failed = {}};
    if (report.kind == Report::Kind::failed)
        report.failed = {.kind = packed.packet.failure,
                         .error = packed.packet.number,
                         .what = std::string(packed.packet.what.data(), packed.size - kPacketHead)};
    return report;
}

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

void send_report(int control, const Report& report) {
    const auto packed = pack(report);
    ::send(control, &packed.packet, packed.size, MSG_NOSIGNAL);
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
    const auto packed = pack({.kind = Report::Kind::failed, .failed = main.program.run()});
    (void)!write(status_pipe, &packed.packet, packed.size);
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
    Supervisor(Fd control, Fd input, Fd output, Fd error)
        : control_(std::move(control)),
          input_(std::move(input)),
          output_(std::move(output)),
          error_(std::move(error)) {}

    /// Without a start it is a spare one, and waits for it.
    [[noreturn]] void run(const Start* start, const Inheritance& inheritance) {
        close_all_but({control_.get(), input_.get(), output_.get(), error_.get()});
        setsid();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        for (int number = 1; number < NSIG; ++number)
            std::signal(number, SIG_DFL);  // for the program; ours are blocked
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        signals_ = Fd(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
        if (start != nullptr)
            fork_main(*start, inheritance);
        else
            fork_main(wait_for_start(), inheritance);
        for (;;) turn();
    }

private:
    Start wait_for_start() {
        std::array<char, 16> name{};
        prctl(PR_GET_NAME, name.data());
        prctl(PR_SET_NAME, kSpareName);
        std::string bytes(kMaxGivenStart, '\0');
        const auto count = recv(control_.get(), bytes.data(), bytes.size(), 0);
        bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        auto start = decode_start(bytes);
        if (!start) _exit(0);  // PID 1 has closed it
        prctl(PR_SET_NAME, name.data());
        return std::move(*start);
    }

    void fork_main(const Start& start, const Inheritance& inheritance) {
        Pipe status;
        if (!open_pipe(status)) fail(failure("pipe", errno));
        {
            const Program program(start, inheritance.env);
            main_ = start_main({.program = program,
                                .inheritance = inheritance,
                                .stdio = {input_.get(), output_.get(), error_.get()},
                                .control = control_.get(),
                                .status_pipe = status.write.get()});
        }
        if (main_ < 0) fail(failure("fork", errno));
        // Now only the command holds them, so that their ends are seen.
        input_.reset();
        output_.reset();
        error_.reset();
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
        Packed packed;
        const auto count = read(status_pipe.get(), &packed.packet, sizeof packed.packet);
        if (count >= static_cast<ssize_t>(kPacketHead)) {
            packed.size = static_cast<std::size_t>(count);
            fail(unpack(packed).failed);
        }
        send({.kind = Report::Kind::started, .number = 0, .failed = {}});
    }

    void reap() {
        signalfd_siginfo info{};
        while (read(signals_.get(), &info, sizeof info) > 0) continue;
        int status = 0;
        pid_t pid = 0;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) reaped(pid, status);
        if (pid < 0 && errno == ECHILD) _exit(0);  // all has been told, and nothing is left to kill
    }

    void reaped(pid_t pid, int status) {
        if (pid != main_) return;
        main_ = 0;
        send({.kind = Report::Kind::ended, .number = status, .failed = {}});
    }

    void obey() {
        char command = 0;
        if (recv(control_.get(), &command, 1, 0) != 1 || command != static_cast<char>(Command::kill)) _exit(0);
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
    Fd input_;
    Fd output_;
    Fd error_;
    Fd signals_;
    pid_t main_ = 0;
};

}  // namespace

namespace {

std::expected<Supervised, Failed> fork_supervisor(const Start* start, const Inheritance& inheritance) {
    std::array<int, 2> control{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) != 0)
        return std::unexpected(failure("socketpair", errno));
    Fd ours(control[0]);
    Fd theirs(control[1]);
    Pipe input;
    Pipe output;
    Pipe error;
    if (!open_pipe(input) || !open_pipe(output) || !open_pipe(error)) return std::unexpected(failure("pipe", errno));

    const pid_t pid = fork();
    if (pid < 0) return std::unexpected(failure("fork", errno));
    if (pid == 0)
        Supervisor(std::move(theirs), std::move(input.read), std::move(output.write), std::move(error.write))
            .run(start, inheritance);
    for (const auto* fd : {&ours, &input.write, &output.read, &error.read}) dont_block(*fd);
    return Supervised{.supervisor = pid,
                      .control = std::move(ours),
                      .input = std::move(input.write),
                      .output = std::move(output.read),
                      .error = std::move(error.read)};
}

}  // namespace

std::expected<Supervised, Failed> start_supervisor(const Start& start, const Inheritance& inheritance) {
    auto supervised = fork_supervisor(&start, inheritance);
    if (supervised && !start.input) supervised->input.reset();
    return supervised;
}

std::expected<Supervised, Failed> start_spare_supervisor(const Inheritance& inheritance) {
    return fork_supervisor(nullptr, inheritance);
}

bool give_start(Supervised& spare, const Start& start) {
    const auto bytes = encode_start(start);
    if (bytes.size() > kMaxGivenStart) return false;
    if (send(spare.control.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return false;
    if (!start.input) spare.input.reset();
    return true;
}

void send_command(const Fd& control, Command command) {
    send(control.get(), &command, 1, MSG_NOSIGNAL);
}

std::expected<Report, NoReport> read_report(const Fd& control) {
    Packed packed;
    const auto count = recv(control.get(), &packed.packet, sizeof packed.packet, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return std::unexpected(NoReport::yet);
    if (count < static_cast<ssize_t>(kPacketHead)) return std::unexpected(NoReport::ever);
    packed.size = static_cast<std::size_t>(count);
    return unpack(packed);
}

}  // namespace sandbox::guest
