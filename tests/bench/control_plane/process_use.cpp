#include "process_use.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace sandbox::bench {

namespace {

/// The fields of /proc/<pid>/stat that matter here, in ticks.
struct Stat {
    pid_t parent = 0;
    double own = 0;
    double children = 0;  // ended ones
};

Stat stat_of(const std::string& pid) {
    std::ifstream file("/proc/" + pid + "/stat");
    std::string line;
    std::getline(file, line);
    const auto name_end = line.rfind(')');  // the name may hold anything
    if (name_end == std::string::npos) return {};
    std::istringstream fields(line.substr(name_end + 1));
    std::string skipped;
    Stat stat;
    fields >> skipped >> stat.parent;
    for (int i = 0; i < 9; ++i) fields >> skipped;
    double user = 0;
    double system = 0;
    double children_user = 0;
    double children_system = 0;
    fields >> user >> system >> children_user >> children_system;
    stat.own = user + system;
    stat.children = children_user + children_system;
    return stat;
}

double seconds(double ticks) {
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

ProcessUse ProcessUse::of(pid_t pid) {
    ProcessUse use;
    use.cpu_seconds = seconds(stat_of(std::to_string(pid)).own);
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) use.resident_mib = std::stod(line.substr(6)) / 1024;
        if (line.starts_with("VmHWM:")) use.peak_mib = std::stod(line.substr(6)) / 1024;
    }
    return use;
}

double ProcessUse::cpu_of_family(pid_t parent) {
    const auto head = stat_of(std::to_string(parent));
    double ticks = head.own + head.children;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (!std::ranges::all_of(name, [](unsigned char c) { return c >= '0' && c <= '9'; })) continue;
        if (const auto stat = stat_of(name); stat.parent == parent) ticks += stat.own;
    }
    return seconds(ticks);
}

}  // namespace sandbox::bench
