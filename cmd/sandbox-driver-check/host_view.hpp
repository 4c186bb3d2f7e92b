#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <sandbox/async/task.hpp>

namespace sandbox::driver_check {

/// A process's arguments, each with a NUL behind it; empty when it is not there.
[[nodiscard]] std::string command_line_of(pid_t pid);

struct SeenProcess {
    pid_t pid = 0;
    std::string command_line;  // with spaces
};

/// Processes of this host with the text in their command line or environment. What runs on another kernel, or is
/// another user's, is not seen.
[[nodiscard]] std::vector<SeenProcess> processes_with(std::string_view text);

/// Those that are still there at the deadline; sooner when there are none. They are killed then: nobody else will.
Task<std::vector<SeenProcess>> end_processes_with(std::string text, Deadline deadline);

/// Processor time, in seconds, that this host has not used since its start, of all its processors together.
[[nodiscard]] double spare_cpu_seconds();

/// Where something is mounted that has the text in its mount point, source or options.
[[nodiscard]] std::vector<std::string> mounts_with(std::string_view text);

}  // namespace sandbox::driver_check
