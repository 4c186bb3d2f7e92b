// sandbox-guest: PID 1 of a sandbox. It speaks the guest protocol over its standard input and output.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commit.hpp"
#include "guest.hpp"
#include "socket_filter.hpp"

namespace {

using namespace sandbox::guest;

int usage() {
    (void)std::fputs(
        "usage: sandbox-guest                    run as PID 1 of a sandbox, a worker at standard input and output\n"
        "       sandbox-guest --prepare DIR      make DIR writable for everyone (as root, without any capability)\n"
        "       sandbox-guest --version\n",
        stderr);
    return 2;
}

// For workspaces that the engine made: their root directory belongs to root, whatever user the image runs as.
int prepare(const char* directory) {
    if (chmod(directory, 01777) == 0) return 0;
    (void)std::fprintf(stderr, "sandbox-guest: %s: %s\n", directory, std::strerror(errno));
    return 1;
}

// The commands' pipes are ours as well, so as many descriptors as we may; the commands get the former limit back.
rlimit raise_open_files() {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit raised{.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &raised);
    return before;
}

// The streams to the host under numbers of their own; 0 to 2 then lead nowhere, for us and by mistake.
Fd take_over(int standard_stream) {
    Fd stream(fcntl(standard_stream, F_DUPFD_CLOEXEC, 3));
    const Fd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (nowhere) dup2(nowhere.get(), standard_stream);
    return stream;
}

int run() {
    // Blocks that a long start needed go back to the system and don't raise the limit for the next.
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 256 * 1024);
    std::signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // what PID 1 is anyway; under another init, orphans come here all the same
    Guest guest(take_over(STDIN_FILENO), take_over(STDOUT_FILENO),
                {.env = current_environment(), .open_files = raise_open_files()});
    if (!close_vsock()) (void)std::fputs("sandbox-guest: the kernel takes no system call filter\n", stderr);
    // From here on no process of the sandbox can open our streams through /proc/1/fd, nor read our memory.
    prctl(PR_SET_DUMPABLE, 0);
    guest.run();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1) return run();
    const std::string_view option(argv[1]);
    if (option == "--version" && argc == 2)
        return std::puts("sandbox-guest " SANDBOX_GUEST_VERSION " (commit " SANDBOX_COMMIT ")") < 0 ? 1 : 0;
    if (option == "--prepare" && argc == 3) return prepare(argv[2]);
    return usage();
}
