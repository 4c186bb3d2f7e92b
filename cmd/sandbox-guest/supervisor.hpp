#pragma once

#include <expected>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>

#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/start.hpp>

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

/// Forks the supervisor of one exec, a process that starts the main process in a session of its own, adopts every
/// orphan below it, and reports. It ends when it is told to or when `control` is closed; what still runs then is PID
/// 1's. The supervisor inherits PID 1's memory, so it is not dumpable either.
[[nodiscard]] std::expected<Supervised, Failed> start_supervisor(const Start& start, const Inheritance& inheritance);

/// One that waits to be told what to start, so that the next exec needs no fork of PID 1. Processes of the sandbox see
/// it under the name kSpareName, and may kill it.
[[nodiscard]] std::expected<Supervised, Failed> start_spare_supervisor(const Inheritance& inheritance);
inline constexpr const char* kSpareName = "sandbox-spare";
/// Makes it the supervisor of this start. False when it can't be, since it is gone or the start is too long for it; the
/// start has not begun then.
[[nodiscard]] bool give_start(Supervised& spare, const Start& start);

enum class Command : char {
    kill = 'k',     // everything, then report `cleared` and end
    release = 'r',  // end, and leave what runs
};
void send_command(const Fd& control, Command command);

/// What is said through `control`. First forked, by the main process itself before it becomes the program, so that PID
/// 1 knows it even if that program's first deed is to kill its supervisor. Then, by the supervisor, started and ended;
/// or failed. After a kill also cleared.
struct Report {
    enum class Kind : unsigned char { forked, started, failed, ended, cleared };
    Kind kind{};
    int number = 0;  // forked: the main process; ended: its wait status
    Failed failed;
};
enum class NoReport { yet, ever };
/// Does not wait. `ever`: the supervisor is gone.
[[nodiscard]] std::expected<Report, NoReport> read_report(const Fd& control);

}  // namespace sandbox::guest
