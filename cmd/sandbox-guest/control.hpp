#pragma once

#include <array>
#include <expected>
#include <optional>
#include <span>
#include <string_view>

#include <sandbox/guest/messages.hpp>

#include "fd.hpp"

// What PID 1 and a supervisor say to each other: one packet of a local socket for each thing said. Nobody else has an
// end of it.
namespace sandbox::guest {

enum class Command : char {
    kill = 'k',     // everything, then report `cleared` and end
    release = 'r',  // end, and leave what runs
};
void send_command(const Fd& control, Command command);

/// What is said through `control`. First forked, by the main process itself before it becomes the program, so that PID
/// 1 knows it even if that program's first deed is to kill its supervisor. Then, by the supervisor, started and ended;
/// or failed. After a kill also cleared. Last idle, when nothing runs below it any more: it can be given another start.
struct Report {
    enum class Kind : unsigned char { forked, started, failed, ended, cleared, idle };
    Kind kind{};
    int number = 0;  // forked: the main process; ended: its wait status
    Failed failed;
};
enum class NoReport { yet, ever };
/// Does not wait. `ever`: the supervisor is gone.
[[nodiscard]] std::expected<Report, NoReport> read_report(const Fd& control);

/// For the supervisor's side, also in its main process: takes no memory.
void send_report(int control, const Report& report);

/// A start that fits into one packet on every system.
inline constexpr std::size_t kMaxGivenStart = std::size_t{32} * 1024;
/// The start as encode_start() makes it, with the command's standard streams. False when the supervisor is gone or the
/// system refuses.
[[nodiscard]] bool send_start(const Fd& control, std::string_view bytes, const std::array<Fd, 3>& stdio);

/// A command, or a start with the command's standard streams, or, when PID 1 has closed the socket, nothing.
struct Message {
    std::string_view bytes;  // in the buffer that it was received into
    std::array<Fd, 3> stdio;

    [[nodiscard]] bool is_start() const { return bool(stdio[0]); }
    [[nodiscard]] std::optional<Command> command() const {
        return bytes.size() == 1 ? std::optional(Command{bytes.front()}) : std::nullopt;
    }
};
/// Waits. `buffer` takes kMaxGivenStart bytes.
[[nodiscard]] Message receive(const Fd& control, std::span<char> buffer);

/// Through the pipe that becoming a program closes: why it did not. Takes no memory.
void write_failure(int status_pipe, const Failed& failed);
/// Waits. Nothing when the main process has become its program, or is gone.
[[nodiscard]] std::optional<Failed> read_failure(const Fd& status_pipe);

}  // namespace sandbox::guest
