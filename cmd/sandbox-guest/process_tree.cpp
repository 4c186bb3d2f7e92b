#include "process_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.hpp"

namespace sandbox::guest {

namespace {

using namespace std::chrono_literals;

// "PID (any name) STATE PPID …"; the name may hold anything, so what counts begins behind the last parenthesis.
std::optional<Process> read_process(int proc, const char* pid) {
    std::array<char, 64> path{};
    (void)std::snprintf(path.data(), path.size(), "%s/stat", pid);
    const Fd fd(openat(proc, path.data(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> buffer{};
    const auto count = fd ? read(fd.get(), buffer.data(), buffer.size()) : -1;
    if (count <= 0) return std::nullopt;
    std::string_view text(buffer.data(), static_cast<std::size_t>(count));
    const auto behind = text.rfind(')');
    if (behind == std::string_view::npos || text.size() < behind + 5) return std::nullopt;
    Process process;
    process.state = text[behind + 2];
    text.remove_prefix(behind + 4);
    const std::string_view name(pid);
    if (std::from_chars(name.begin(), name.end(), process.pid).ec != std::errc()) return std::nullopt;
    if (std::from_chars(text.begin(), text.end(), process.parent).ec != std::errc()) return std::nullopt;
    return process;
}

bool gone(const Process& process) {
    return process.state == 'Z' || process.state == 'X';
}

bool runs(const Process& process) {
    return !gone(process) && process.state != 'T' && process.state != 't';
}

// Until none of them can fork any more, or a while has passed.
void freeze_below(pid_t root) {
    const auto give_up = SteadyClock::now() + 100ms;
    bool calm = false;
    while (!calm && SteadyClock::now() < give_up) {
        calm = true;
        for (const auto& process : descendants_of(root, list_processes())) {
            if (!runs(process)) continue;
            kill(process.pid, SIGSTOP);
            calm = false;
        }
    }
}

void kill_below(pid_t root) {
    for (const auto& process : descendants_of(root, list_processes()))
        if (!gone(process)) kill(process.pid, SIGKILL);
}

}  // namespace

std::vector<Process> list_processes() {
    std::vector<Process> processes;
    const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
    if (!proc) return processes;
    while (const auto* entry = readdir(proc.get())) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
        if (const auto process = read_process(dirfd(proc.get()), entry->d_name)) processes.push_back(*process);
    }
    return processes;
}

std::vector<Process> descendants_of(pid_t root, std::vector<Process> processes) {
    std::ranges::sort(processes, {}, &Process::parent);
    std::vector<Process> found;
    std::size_t looked_at = 0;
    for (auto parent = root;; parent = found[looked_at++].pid) {
        const auto children = std::ranges::equal_range(processes, parent, {}, &Process::parent);
        // A picture of several moments may hold a circle; nobody is found twice.
        if (found.size() + children.size() > processes.size()) break;
        found.insert(found.end(), children.begin(), children.end());
        if (looked_at == found.size()) break;
    }
    return found;
}

void kill_tree_once(pid_t root) {
    kill(root, SIGSTOP);
    freeze_below(root);
    kill_below(root);
    kill(root, SIGKILL);
}

bool kill_all_below_me(TimePoint give_up, const std::function<void(pid_t, int)>& reaped) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    freeze_below(getpid());
    timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    for (;;) {
        kill_below(getpid());
        int status = 0;
        pid_t pid = 0;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) reaped(pid, status);
        if (pid < 0 && errno == ECHILD) return true;
        if (SteadyClock::now() >= give_up) return false;
        // A child's end cuts it short; what can't be killed is asked about ever less often.
        sigtimedwait(&child, nullptr, &pause);
        pause.tv_nsec = std::min(pause.tv_nsec * 2, 50'000'000L);
    }
}

}  // namespace sandbox::guest
