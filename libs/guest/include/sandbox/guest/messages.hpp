#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sandbox/guest/frame.hpp>
#include <sandbox/guest/reader.hpp>

/// The payloads. `append_x` writes a whole frame; `decode_x` reads a payload strictly: nothing when it is not exactly
/// one x. Frames with no payload (end_of_input, kill, ack, query_command, end_of_data, started, running, ready,
/// connected) are written with append_frame. start has a header of its own.
namespace sandbox::guest {

/// Opens a session: kFlushSize zero bytes, then hello. It may be sent at any time, by any host; the guest forgets the
/// former session's connections and what it had still to say to it.
struct HostHello {
    std::uint16_t version = kProtocolVersion;
    Nonce nonce{};
};
void append_attach(std::string& out, const HostHello& hello);
[[nodiscard]] std::optional<HostHello> decode_host_hello(std::string_view payload);

/// The guest's answer, with the nonce that it answers to; then running…, exited…, failed…, command_status?, ready.
struct GuestHello {
    Nonce nonce{};
    std::uint16_t version = kProtocolVersion;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    bool workspace_writable = false;
    bool sees_oom_kills = false;      // Exited::oom_killed can be relied on
    bool sees_process_limit = false;  // Exited::out_of_processes can be relied on
};
void append_guest_hello(std::string& out, const GuestHello& hello);
[[nodiscard]] std::optional<GuestHello> decode_guest_hello(std::string_view payload);

/// What a credit is for, and who grants it: `input` by the guest, `output` and `error` by the host, `connection` by
/// either for the other's direction.
enum class Stream : std::uint8_t { input = 0, output = 1, error = 2, connection = 3 };

/// The other side may send that many more bytes on that stream.
struct Credit {
    Stream stream{};
    std::uint32_t bytes = 0;
};
void append_credit(std::string& out, std::uint64_t id, const Credit& credit);
[[nodiscard]] std::optional<Credit> decode_credit(std::string_view payload);

/// So many bytes of that output stream were written here and are not sent. Only after the first half of what the host
/// keeps has gone, and the last half follows whole. Takes no credit.
struct Skipped {
    Stream stream{};  // output or error
    std::uint64_t bytes = 0;
};
void append_skipped(std::string& out, std::uint64_t id, const Skipped& skipped);
[[nodiscard]] std::optional<Skipped> decode_skipped(std::string_view payload);

/// An exec has ended and this is all of it: no output follows. Kept by the guest until it is acknowledged.
struct Exited {
    std::uint8_t code = 0;          // when no signal ended it
    std::uint8_t signal = 0;        // the signal that ended the main process, or 0
    bool timed_out = false;         // the tree was killed at the time limit
    bool killed = false;            // … or by a kill frame
    bool oom_killed = false;        // the sandbox's memory limit killed something meanwhile
    bool out_of_processes = false;  // the sandbox's process limit refused something meanwhile

    bool operator==(const Exited&) const = default;
};
void append_exited(std::string& out, std::uint64_t id, const Exited& exited);
[[nodiscard]] std::optional<Exited> decode_exited(std::string_view payload);
/// What a shell would call the exit code: 124 at the time limit, 128 + n for a signal.
[[nodiscard]] int exit_code(const Exited& exited);

enum class Failure : std::uint8_t {
    not_found = 1,         // exit code 127
    cannot_run = 2,        // 126: no permission, wrong format, argument list too long, …
    bad_directory = 3,     // 126: cwd is missing or can't be entered
    out_of_processes = 4,  // the sandbox's process limit is used up
    busy = 5,              // kMaxExecs or kMaxUnacknowledged
    internal = 6,          // anything else, in `what`
};

/// An exec never ran. Kept by the guest until it is acknowledged.
struct Failed {
    Failure kind = Failure::internal;
    std::int32_t error = 0;  // errno, or 0
    std::string what;  // a sentence that names the program and the reason; at most kMaxWhat bytes, perhaps not UTF-8
};
inline constexpr std::size_t kMaxWhat = 512;
void append_failed(std::string& out, std::uint64_t id, const Failed& failed);
[[nodiscard]] std::optional<Failed> decode_failed(std::string_view payload);
/// 127 for not_found, 126 for cannot_run and bad_directory, otherwise nothing.
[[nodiscard]] std::optional<int> exit_code(const Failed& failed);

/// How the start-up command is doing: sent when it has ended, when asked, and in a session's opening if there is one.
struct CommandStatus {
    enum class State : std::uint8_t { none = 0, running = 1, ended = 2 };
    State state = State::none;
    std::uint8_t code = 0;
    std::uint8_t signal = 0;
    std::string tail;  // the last kCommandTail bytes of its output and standard error together
};
void append_command_status(std::string& out, const CommandStatus& status);
[[nodiscard]] std::optional<CommandStatus> decode_command_status(std::string_view payload);

/// Connect to a port on the sandbox's own loopback. Answered with connected or close.
struct Dial {
    std::uint16_t port = 0;
    std::uint32_t credit = 0;  // what the guest may send before more is granted
};
void append_dial(std::string& out, std::uint64_t id, const Dial& dial);
[[nodiscard]] std::optional<Dial> decode_dial(std::string_view payload);

/// A connection is over, both ways. Not answered.
struct Close {
    std::int32_t error = 0;  // errno; 0 after an orderly end
};
void append_close(std::string& out, std::uint64_t id, const Close& close);
[[nodiscard]] std::optional<Close> decode_close(std::string_view payload);

}  // namespace sandbox::guest
