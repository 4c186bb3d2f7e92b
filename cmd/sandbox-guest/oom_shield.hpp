#pragma once

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "fd.hpp"

namespace sandbox::guest {

/// Makes the commands likelier victims of the memory limit than PID 1, whose end is the sandbox's. A process can't
/// raise another's score, so PID 1 raises its own around each fork, and the child keeps it. Made before PID 1 gives up
/// being dumpable, which takes its own /proc files from it.
class OomShield {
public:
    OomShield() : score_(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)) {}

    void raise() { set("500"); }
    void lower() { set("0"); }

private:
    void set(const char* score) {
        if (score_) (void)!pwrite(score_.get(), score, std::strlen(score), 0);
    }

    Fd score_;
};

}  // namespace sandbox::guest
