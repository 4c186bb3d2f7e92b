// sandbox-driver-run: one run of an external driver. It stands between the worker and the driver so that nothing of a
// run stays behind: it adopts every orphan below it (child subreaper), whatever session it moved to, and ends them all
// when the driver fails, when the worker says so, or when the worker is gone.
//
//   the driver ends with status 0     its process group is killed; what has a session of its own (setsid) is left
//   it ends in any other way          everything below is killed
//   SIGTERM, or the worker's end      SIGTERM to the driver's process group; after the grace time everything is killed
//   SIGINT                            everything is killed at once
//
// It ends as the driver ended: with the same exit status, or by the same signal.
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_tree.hpp"

namespace {

using namespace std::chrono_literals;
using sandbox::guest::kill_all_below_me;
using sandbox::guest::SteadyClock;
using sandbox::guest::TimePoint;

constexpr int kNotFound = 127;
constexpr int kCannotRun = 126;
constexpr auto kKillTime = 5s;  // for what was killed to be gone; what sleeps in the kernel is left then

int usage() {
    (void)std::fputs("usage: sandbox-driver-run PARENT_PID GRACE_MS DRIVER ACTION\n", stderr);
    return 2;
}

template <class T>
bool read_number(std::string_view text, T& value) {
    return std::from_chars(text.begin(), text.end(), value).ptr == text.end() && value > 0;
}

/// Nothing that the worker has open is for a driver to see.
void close_what_was_inherited() {
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0) return;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int file = STDERR_FILENO + 1; file < static_cast<int>(limit.rlim_cur); ++file) close(file);
}

[[noreturn]] void become_driver(char* const* argv, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kCannotRun);
    for (int number = 1; number < NSIG; ++number) (void)std::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execv(argv[0], argv);
    const int why = errno;
    (void)std::fprintf(stderr, "%s can't be run: %s\n", argv[0], std::strerror(why));
    _exit(why == ENOENT ? kNotFound : kCannotRun);
}

/// Reaps what has ended, all but the driver, whose number must stay taken while its group is killed. Whether the driver
/// has ended, and then how.
bool has_ended(pid_t driver, siginfo_t& how) {
    for (;;) {
        siginfo_t ended{};
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return false;
        if (ended.si_pid == driver) {
            how = ended;
            return true;
        }
        waitpid(ended.si_pid, nullptr, 0);
    }
}

/// Until the driver has ended, or everything is to be killed. True when it was asked to stop.
bool watch(pid_t driver, std::chrono::milliseconds grace, siginfo_t& how) {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&watched, number);
    bool stopping = false;
    auto kill_at = TimePoint::max();
    while (!has_ended(driver, how)) {
        const auto now = SteadyClock::now();
        if (now >= kill_at) return true;
        const auto left = std::min<std::chrono::nanoseconds>(kill_at - now, 1h);
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        const timespec pause{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
        const int number = sigtimedwait(&watched, nullptr, &pause);
        if (number == SIGTERM && !stopping) {
            stopping = true;
            kill(-driver, SIGTERM);
            kill_at = SteadyClock::now() + grace;
        } else if (number == SIGINT) {
            return true;
        }
    }
    return stopping;
}

[[noreturn]] void end_by(int number) {
    const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &no_core);
    (void)std::signal(number, SIG_DFL);
    sigset_t all;
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    (void)std::raise(number);
    _exit(128 + number);
}

int run(pid_t parent, std::chrono::milliseconds grace, char* const* driver_argv) {
    close_what_was_inherited();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) return 1;  // the worker has gone already
    if (chdir("/") != 0) return 1;

    sigset_t blocked;
    sigfillset(&blocked);
    sigprocmask(SIG_SETMASK, &blocked, nullptr);
    const pid_t me = getpid();
    const pid_t driver = fork();
    if (driver < 0) {
        std::perror("fork");
        return kCannotRun;
    }
    if (driver == 0) become_driver(driver_argv, me);
    setpgid(driver, driver);  // as the driver does: whoever comes first
    // The worker sees the end of the driver's output only when nobody else holds it.
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);

    siginfo_t how{};
    const bool stopped = watch(driver, grace, how);
    if (!stopped && how.si_code == CLD_EXITED && how.si_status == 0) {
        kill(-driver, SIGKILL);
        return 0;
    }
    int status = SIGKILL;  // of a driver that can't be reaped in time
    kill_all_below_me(SteadyClock::now() + kKillTime, [&](pid_t pid, int ended) {
        if (pid == driver) status = ended;
    });
    if (WIFSIGNALED(status)) end_by(WTERMSIG(status));
    return WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
    pid_t parent = 0;
    long grace_ms = 0;
    constexpr int kArguments = 5;
    if (argc != kArguments || !read_number(argv[1], parent) || !read_number(argv[2], grace_ms)) return usage();
    return run(parent, std::chrono::milliseconds(grace_ms), argv + 3);
}
