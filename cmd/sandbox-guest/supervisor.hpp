#pragma once

#include <expected>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>

#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/start.hpp>

#include "control.hpp"
#include "fd.hpp"
#include "program.hpp"

namespace sandbox::guest {

/// What PID 1 was given and gives to every command as it was.
struct Inheritance {
    Environment env;
    rlimit open_files{};
};

/// PID 1's ends of an exec that is being started. The pipes don't block; `control` is read with read_report().
struct Supervised {
    pid_t supervisor = 0;
    Fd control;
    Fd input;  // none when there is no input
    Fd output;
    Fd error;
};

/// A supervisor that waits to be told what to start, so that the next exec needs no fork of PID 1. Processes of the
/// sandbox see it under the name kSpareName, and may kill it. It ends when `control` is closed.
struct Spare {
    pid_t supervisor = 0;
    Fd control;
};
inline constexpr const char* kSpareName = "sandbox-spare";

/// Forks the supervisor of one exec, a process that starts the main process in a session of its own, adopts every
/// orphan below it, and reports. When nothing runs below it any more it is a spare one. It ends when it is told to or
/// when `control` is closed; what still runs then is PID 1's. The supervisor inherits PID 1's memory, so it is not
/// dumpable either.
[[nodiscard]] std::expected<Supervised, Failed> start_supervisor(const Start& start, const Inheritance& inheritance);
[[nodiscard]] std::expected<Spare, Failed> start_spare_supervisor(const Inheritance& inheritance);
/// Makes it the supervisor of this start. Nothing when it can't be, since it is gone, the start is too long for it or
/// descriptors have run out; the start has not begun then.
[[nodiscard]] std::optional<Supervised> give_start(Spare& spare, const Start& start);

}  // namespace sandbox::guest
