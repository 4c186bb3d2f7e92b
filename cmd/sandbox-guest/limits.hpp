#pragma once

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

    /// The process limit; nothing when there is none, or it can't be seen.
    [[nodiscard]] std::optional<std::uint64_t> max_processes() const;

private:
    Fd memory_events_;
    Fd pids_events_;
    Fd pids_max_;
};

}  // namespace sandbox::guest
