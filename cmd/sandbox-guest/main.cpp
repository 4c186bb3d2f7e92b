// sandbox-guest: PID 1 of a sandbox.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int usage() {
    std::fputs(
        "usage: sandbox-guest            run as PID 1 of a sandbox\n"
        "       sandbox-guest --version\n",
        stderr);
    return 2;
}

// Waits for children for ever, so that no zombie stays. The process of a namespace that is PID 1 gets only the
// signals that it asked for; SIGTERM counts when it comes from outside the sandbox (its sender's pid is then 0), so
// that no process inside can end it.
int reap_for_ever() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    for (;;) {
        siginfo_t info{};
        if (sigwaitinfo(&signals, &info) == SIGTERM && info.si_pid == 0) return 0;
        while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        std::puts("sandbox-guest " SANDBOX_GUEST_VERSION);
        return 0;
    }
    if (argc != 1) return usage();
    // Otherwise every process of the sandbox could open our streams through /proc/1/fd.
    prctl(PR_SET_DUMPABLE, 0);
    std::signal(SIGPIPE, SIG_IGN);
    return reap_for_ever();
}
