#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fd.hpp"

namespace sandbox::guest {

/// The sandbox's own control group, as far as it can be seen from inside (both versions; read only).
class Limits {
public:
    /// Opens what is there.
    Limits();

    /// How often the memory limit has killed something, and the process limit has refused something.
    struct Counts {
        std::optional<std::uint64_t> oom_kills;
        std::optional<std::uint64_t> refused_processes;
    };
    [[nodiscard]] Counts counts() const;

    /// Whether that many processes are half of the limit or more: one tree that large keeps others from starting.
    [[nodiscard]] bool filled_by(std::size_t processes) const;
    /// Whether that many processes more would be let in now.
    [[nodiscard]] bool has_room_for(std::size_t processes) const;

private:
    Fd memory_events_;
    Fd pids_events_;
    Fd pids_max_;
    Fd pids_current_;
};

}  // namespace sandbox::guest
