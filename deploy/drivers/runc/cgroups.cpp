#include "cgroups.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/types.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace sandbox::driver_runc {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

/// In each hierarchy of version 1, and in the one of version 2.
std::vector<fs::path> cgroups_of(const std::string& name) {
    std::vector<fs::path> found;
    std::error_code error;
    const fs::path root("/sys/fs/cgroup");
    if (fs::is_directory(root / name, error)) found.push_back(root / name);
    for (const auto& hierarchy : fs::directory_iterator(root, error))
        if (!hierarchy.is_symlink() && fs::is_directory(hierarchy.path() / name, error))
            found.push_back(hierarchy.path() / name);
    return found;
}

/// The group itself and those below it, which a sandbox can't make, but a cgroup namespace may have.
void kill_in(const fs::path& group) {
    std::error_code error;
    std::vector<fs::path> groups{group};
    for (const auto& entry : fs::recursive_directory_iterator(group, error))
        if (entry.is_directory(error)) groups.push_back(entry.path());
    std::ranges::reverse(groups);
    for (const auto& each : groups) {
        std::ifstream processes(each / "cgroup.procs");
        for (pid_t pid = 0; processes >> pid;)
            if (pid > 0) ::kill(pid, SIGKILL);
        ::rmdir(each.c_str());  // busy as long as one of them is not gone
    }
}

}  // namespace

Result<void> empty_cgroups(const std::string& name) {
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    auto pause = 1ms;
    auto left = cgroups_of(name);
    while (!left.empty()) {
        for (const auto& group : left) kill_in(group);
        left = cgroups_of(name);
        if (left.empty()) break;
        if (std::chrono::steady_clock::now() > give_up)
            return fail(Code::unavailable, fmt::format("{} can't be emptied", left.front().string()));
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, 8ms);
    }
    return {};
}

}  // namespace sandbox::driver_runc
