#pragma once

#include <functional>
#include <sys/types.h>
#include <vector>

#include "poller.hpp"

namespace sandbox::guest {

/// A process as /proc shows it.
struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';  // R, S, D, T (stopped), Z (zombie), …
};

/// Every process that can be seen; not one moment's picture, since others go on meanwhile.
[[nodiscard]] std::vector<Process> list_processes();

/// Those below `root`, however deep, without it.
[[nodiscard]] std::vector<Process> descendants_of(pid_t root, std::vector<Process> processes);

/// Once: stops and kills `root` and what is below it now.
void kill_tree_once(pid_t root);

/// Kills everything below the calling process, which must be a subreaper, and reaps it; what forks faster than one can
/// look is stopped first. `reaped` gets each child's pid and wait status. Returns whether nothing is left, at
/// `give_up` at the latest (a process that sleeps in the kernel can't be killed).
bool kill_all_below_me(TimePoint give_up, const std::function<void(pid_t, int)>& reaped);

}  // namespace sandbox::guest
