#pragma once

#include <string>
#include <sys/types.h>

namespace sandbox::bench {

/// What a process has used so far, as /proc tells.
struct ProcessUse {
    double cpu_seconds = 0;  // user and system
    double resident_mib = 0;
    double peak_mib = 0;

    /// Of one process; zeros when it is gone.
    [[nodiscard]] static ProcessUse of(pid_t pid);
    /// Its processor time with that of its children, those that ended included: PostgreSQL's sessions.
    [[nodiscard]] static double cpu_of_family(pid_t parent);
};

}  // namespace sandbox::bench
