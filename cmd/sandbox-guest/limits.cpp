#include "limits.hpp"

#include <array>
#include <charconv>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace sandbox::guest {

namespace {

Fd open_first(const char* version_2, const char* version_1) {
    Fd fd(open(version_2, O_RDONLY | O_CLOEXEC));
    return fd ? std::move(fd) : Fd(open(version_1, O_RDONLY | O_CLOEXEC));
}

// The number behind `name ` at a line's start, or that the file begins with when name is empty.
std::optional<std::uint64_t> read_number(const Fd& fd, std::string_view name) {
    if (!fd) return std::nullopt;
    std::array<char, 1024> buffer{};
    const auto count = pread(fd.get(), buffer.data(), buffer.size(), 0);
    if (count <= 0) return std::nullopt;
    std::string_view rest(buffer.data(), static_cast<std::size_t>(count));
    while (!rest.empty()) {
        auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (!line.starts_with(name)) continue;
        line.remove_prefix(name.size());
        if (!name.empty()) {
            if (!line.starts_with(' ')) continue;
            line.remove_prefix(1);
        }
        std::uint64_t value = 0;
        if (std::from_chars(line.begin(), line.end(), value).ec == std::errc()) return value;
    }
    return std::nullopt;
}

}  // namespace

Limits::Limits()
    : memory_events_(open_first("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")),
      pids_events_(open_first("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events")),
      pids_max_(open_first("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")),
      pids_current_(open_first("/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current")) {}

Limits::Counts Limits::counts() const {
    return {.oom_kills = read_number(memory_events_, "oom_kill"),
            .refused_processes = read_number(pids_events_, "max")};
}

bool Limits::filled_by(std::size_t processes) const {
    const auto limit = read_number(pids_max_, "");  // "max" is none
    return limit && processes * 2 >= *limit;
}

bool Limits::has_room_for(std::size_t processes) const {
    const auto limit = read_number(pids_max_, "");
    return !limit || read_number(pids_current_, "").value_or(0) + processes <= *limit;
}

}  // namespace sandbox::guest
