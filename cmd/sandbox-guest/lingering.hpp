#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "fd.hpp"
#include "limits.hpp"
#include "poller.hpp"
#include "supervisor.hpp"

namespace sandbox::guest {

/// The supervisors of commands that have ended while something of theirs still runs, for some seconds. A tree that now
/// fills the process limit is a fork bomb whose first process ended at once, not a server left running: it would keep
/// everyone from starting anything, and is killed. After that time what runs becomes PID 1's.
class Lingering {
public:
    /// `refused_before`: the process limit's count when the command began.
    void add(pid_t supervisor, Fd control, std::optional<std::uint64_t> refused_before);
    void watch(Poller& poller);
    void handle(const Poller& poller, const Limits& limits);
    /// One below which nothing runs any more, if there is one; others that are so end.
    [[nodiscard]] std::optional<Spare> take_idle() { return std::exchange(idle_, std::nullopt); }

private:
    struct Tree {
        pid_t supervisor = 0;
        Fd control;
        std::optional<std::uint64_t> refused;  // the count at the last look
        TimePoint until{};
        Poller::Slot slot = Poller::kNone;
    };
    [[nodiscard]] bool has_ended(Tree& tree);
    void kill_bombs(const Limits& limits);

    std::vector<Tree> trees_;
    TimePoint next_look_{};
    std::optional<Spare> idle_;
};

}  // namespace sandbox::guest
