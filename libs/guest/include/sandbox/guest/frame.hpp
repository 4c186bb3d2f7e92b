#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The protocol between a worker (the host) and sandbox-guest, PID 1 of a sandbox, over one pair of byte streams.
/// README.md beside this library tells the order of things on both sides; this header has the bytes.
///
/// A frame, integers little-endian:
///
///     0xA7 | type u8 | payload length u32 | id u64 | payload | 0x5A
///
/// `id` is an exec's or a connection's, chosen by the host (the two are counted apart); 0 where there is neither.
/// Zero bytes between frames toward the guest mean nothing. Neither side trusts the other's lengths.
namespace sandbox::guest {

inline constexpr std::uint16_t kProtocolVersion = 2;

inline constexpr std::size_t kMaxPayload = std::size_t{64} * 1024;
inline constexpr std::size_t kHeaderSize = 14;
inline constexpr std::size_t kMaxFrame = kHeaderSize + kMaxPayload + 1;

/// What a host writes before its hello: enough zero bytes that a guest which waits for the rest of a frame of a host
/// that died gets past it, and then sees more of them in a row than any frame can hold.
inline constexpr std::size_t kFlushSize = kMaxFrame * 2;

/// Execs that the guest runs side by side; one more is answered with `failed` (Failure::busy).
inline constexpr std::size_t kMaxExecs = 64;
/// Answers that the guest keeps until they are acknowledged; with more, it starts nothing new (Failure::busy).
inline constexpr std::size_t kMaxUnacknowledged = 1024;
/// TCP connections that the guest holds at once; one more is closed with EMFILE.
inline constexpr std::size_t kMaxConnections = 256;
/// What the host may send on each stream toward the guest (an exec's input, a connection) before the first credit.
inline constexpr std::size_t kInputWindow = std::size_t{64} * 1024;
/// The start-up command's kept output.
inline constexpr std::size_t kCommandTail = 4096;

enum class FrameType : std::uint8_t {
    hello = 1,  // both ways; see messages.hpp for each payload

    // host to guest
    start_part = 2,  // a piece of a start that does not fit one frame
    start = 3,       // the last, or only, piece
    input = 4,       // bytes for an exec's standard input
    end_of_input = 5,
    kill = 6,           // the exec's whole process tree
    ack = 8,            // exited or failed has arrived: forget it
    start_command = 9,  // the start-up command; pieces before it are start_part with id 0
    query_command = 10,
    dial = 11,

    // both ways
    credit = 7,
    data = 12,         // bytes of a connection
    end_of_data = 13,  // half-close
    close = 14,

    // guest to host
    started = 32,
    output = 33,        // bytes from an exec's standard output
    error_output = 34,  // and from its standard error
    exited = 35,
    failed = 36,
    running = 37,  // after hello: this exec of a former session lives
    ready = 38,    // after hello: everything of former sessions has been told
    command_status = 39,
    connected = 40,
    skipped = 41,  // bytes of an exec's output that the host does not keep, here in the stream
};

/// A frame as it lies in a reader's buffer.
struct Frame {
    FrameType type{};
    std::uint64_t id = 0;
    std::string_view payload;
};

/// Appends a whole frame. The payload has at most kMaxPayload bytes; more is a broken invariant and aborts.
void append_frame(std::string& out, FrameType type, std::uint64_t id, std::string_view payload = {});

/// The bytes before a payload of that length, for a sender that lays the payload down itself; kEndMark goes behind it.
[[nodiscard]] std::array<char, kHeaderSize> frame_header(FrameType type, std::uint64_t id, std::size_t length);
inline constexpr char kEndMark = 0x5A;

/// Appends bytes as as many frames of `type` (input or data) as they need.
void append_bytes(std::string& out, FrameType type, std::uint64_t id, std::string_view bytes);

}  // namespace sandbox::guest
