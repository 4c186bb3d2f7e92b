#include "host.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <fmt/format.h>

namespace sandbox::sandboxd {
namespace {

constexpr std::int64_t kMib = 1 << 20;
constexpr std::int64_t kQuotaPerCore = 4000;  // cpu_millis

std::int64_t nine_tenths(std::int64_t value) {
    return value / 10 * 9 + value % 10 * 9 / 10;
}

/// Of those that this process may run on.
std::int64_t cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return std::max(CPU_COUNT(&set), 1);
}

std::optional<std::int64_t> number_in(const std::string& file) {
    std::ifstream stream(file);
    std::int64_t value = 0;
    if (stream >> value) return value;
    return std::nullopt;
}

std::optional<std::int64_t> memory_mib() {
    std::ifstream meminfo("/proc/meminfo");
    for (std::string name; meminfo >> name;) {
        std::int64_t kib = 0;
        if (name == "MemTotal:" && meminfo >> kib) return kib / 1024;
        meminfo.ignore(256, '\n');
    }
    return std::nullopt;
}

std::optional<std::int64_t> process_limit() {
    const auto ids = number_in("/proc/sys/kernel/pid_max");
    const auto threads = number_in("/proc/sys/kernel/threads-max");
    if (!ids) return threads;
    return std::min(*ids, threads.value_or(*ids));
}

/// Space that files under the directory really take: a sandbox's disk is sparse.
std::int64_t used_mib(const std::string& directory) {
    namespace fs = std::filesystem;
    std::int64_t bytes = 0;
    std::error_code error;
    fs::recursive_directory_iterator file(directory, fs::directory_options::skip_permission_denied, error);
    for (; !error && file != fs::recursive_directory_iterator(); file.increment(error)) {
        struct stat status{};
        if (lstat(file->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) bytes += status.st_blocks * 512;
    }
    return bytes / kMib;
}

}  // namespace

std::optional<std::int64_t> free_disk_mib(const std::string& directory) {
    struct statvfs status{};
    if (statvfs(directory.c_str(), &status) != 0) return std::nullopt;
    return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize) / kMib;
}

std::uint64_t raise_open_files_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

Result<domain::Resources> host_resources(const std::string& state_dir) {
    const auto memory = memory_mib();
    const auto pids = process_limit();
    const auto disk = free_disk_mib(state_dir);
    if (!memory || !pids || !disk)
        return fail(Code::unavailable, fmt::format("the host does not tell its {}; set node.resources",
                                                   !memory ? "memory"
                                                   : !pids ? "process limit"
                                                           : "free disk under " + state_dir));
    return domain::Resources{.cpu_millis = cores() * kQuotaPerCore,
                             .memory_mib = nine_tenths(*memory),
                             .disk_mib = nine_tenths(*disk + used_mib(state_dir)),
                             .pids = nine_tenths(*pids)};
}

}  // namespace sandbox::sandboxd
