#include <algorithm>

#include <sandbox/guest/messages.hpp>

#include "wire.hpp"

namespace sandbox::guest {

namespace {

std::uint8_t byte(bool value) {
    return value ? 1 : 0;
}

void put_error(std::string& out, std::int32_t error) {
    put(out, static_cast<std::uint32_t>(error));
}

std::int32_t take_error(Cursor& in) {
    return static_cast<std::int32_t>(in.number<std::uint32_t>());
}

Nonce take_nonce(Cursor& in) {
    Nonce nonce{};
    const auto bytes = in.take(nonce.size());
    std::ranges::copy(bytes, nonce.begin());
    return nonce;
}

template <class T>
std::optional<T> if_done(const Cursor& in, T value) {
    if (!in.done()) return std::nullopt;
    return value;
}

}  // namespace

void append_attach(std::string& out, const HostHello& hello) {
    out.append(kFlushSize, '\0');
    std::string payload;
    put(payload, hello.version);
    payload.append(hello.nonce.data(), hello.nonce.size());
    append_frame(out, FrameType::hello, 0, payload);
}

std::optional<HostHello> decode_host_hello(std::string_view payload) {
    Cursor in(payload);
    HostHello hello;
    hello.version = in.number<std::uint16_t>();
    hello.nonce = take_nonce(in);
    if (!in.ok()) return std::nullopt;  // what follows may be a later version's
    return hello;
}

void append_guest_hello(std::string& out, const GuestHello& hello) {
    std::string payload(hello.nonce.data(), hello.nonce.size());
    put(payload, hello.version);
    put(payload, hello.uid);
    put(payload, hello.gid);
    put(payload, byte(hello.workspace_writable));
    put(payload, byte(hello.sees_oom_kills));
    put(payload, byte(hello.sees_process_limit));
    append_frame(out, FrameType::hello, 0, payload);
}

std::optional<GuestHello> decode_guest_hello(std::string_view payload) {
    Cursor in(payload);
    GuestHello hello;
    hello.nonce = take_nonce(in);
    hello.version = in.number<std::uint16_t>();
    hello.uid = in.number<std::uint32_t>();
    hello.gid = in.number<std::uint32_t>();
    hello.workspace_writable = in.flag();
    hello.sees_oom_kills = in.flag();
    hello.sees_process_limit = in.flag();
    if (!in.ok()) return std::nullopt;
    return hello;
}

void append_credit(std::string& out, std::uint64_t id, const Credit& credit) {
    std::string payload;
    put(payload, static_cast<std::uint8_t>(credit.stream));
    put(payload, credit.bytes);
    append_frame(out, FrameType::credit, id, payload);
}

std::optional<Credit> decode_credit(std::string_view payload) {
    Cursor in(payload);
    const auto stream = in.number<std::uint8_t>();
    const auto bytes = in.number<std::uint32_t>();
    if (stream > static_cast<std::uint8_t>(Stream::connection)) return std::nullopt;
    return if_done(in, Credit{.stream = static_cast<Stream>(stream), .bytes = bytes});
}

void append_skipped(std::string& out, std::uint64_t id, const Skipped& skipped) {
    std::string payload;
    put(payload, static_cast<std::uint8_t>(skipped.stream));
    put(payload, skipped.bytes);
    append_frame(out, FrameType::skipped, id, payload);
}

std::optional<Skipped> decode_skipped(std::string_view payload) {
    Cursor in(payload);
    const auto stream = in.number<std::uint8_t>();
    const auto bytes = in.number<std::uint64_t>();
    // More than a command can write in its time is a lie, and would overflow what counts it.
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60U;
    if (stream != static_cast<std::uint8_t>(Stream::output) && stream != static_cast<std::uint8_t>(Stream::error))
        return std::nullopt;
    if (bytes > kMost) return std::nullopt;
    return if_done(in, Skipped{.stream = static_cast<Stream>(stream), .bytes = bytes});
}

void append_exited(std::string& out, std::uint64_t id, const Exited& exited) {
    std::string payload;
    put(payload, exited.code);
    put(payload, exited.signal);
    put(payload, byte(exited.timed_out));
    put(payload, byte(exited.killed));
    put(payload, byte(exited.oom_killed));
    put(payload, byte(exited.out_of_processes));
    append_frame(out, FrameType::exited, id, payload);
}

std::optional<Exited> decode_exited(std::string_view payload) {
    Cursor in(payload);
    Exited exited;
    exited.code = in.number<std::uint8_t>();
    exited.signal = in.number<std::uint8_t>();
    exited.timed_out = in.flag();
    exited.killed = in.flag();
    exited.oom_killed = in.flag();
    exited.out_of_processes = in.flag();
    if (exited.signal > 127) return std::nullopt;
    return if_done(in, exited);
}

int exit_code(const Exited& exited) {
    if (exited.timed_out) return 124;
    return exited.signal != 0 ? 128 + exited.signal : exited.code;
}

void append_failed(std::string& out, std::uint64_t id, const Failed& failed) {
    std::string payload;
    put(payload, static_cast<std::uint8_t>(failed.kind));
    put_error(payload, failed.error);
    payload.append(failed.what, 0, kMaxWhat);
    append_frame(out, FrameType::failed, id, payload);
}

std::optional<Failed> decode_failed(std::string_view payload) {
    Cursor in(payload);
    const auto kind = in.number<std::uint8_t>();
    const auto error = take_error(in);
    if (kind < static_cast<std::uint8_t>(Failure::not_found) || kind > static_cast<std::uint8_t>(Failure::internal))
        return std::nullopt;
    if (in.left() > kMaxWhat) return std::nullopt;
    Failed failed{.kind = static_cast<Failure>(kind), .error = error, .what = std::string(in.rest())};
    return if_done(in, std::move(failed));
}

std::optional<int> exit_code(const Failed& failed) {
    switch (failed.kind) {
        case Failure::not_found:
            return 127;
        case Failure::cannot_run:
        case Failure::bad_directory:
            return 126;
        case Failure::out_of_processes:
        case Failure::busy:
        case Failure::internal:
            break;
    }
    return std::nullopt;
}

void append_command_status(std::string& out, const CommandStatus& status) {
    std::string payload;
    put(payload, static_cast<std::uint8_t>(status.state));
    put(payload, status.code);
    put(payload, status.signal);
    const auto skip = status.tail.size() - std::min(status.tail.size(), kCommandTail);
    payload.append(status.tail, skip);
    append_frame(out, FrameType::command_status, 0, payload);
}

std::optional<CommandStatus> decode_command_status(std::string_view payload) {
    Cursor in(payload);
    CommandStatus status;
    const auto state = in.number<std::uint8_t>();
    status.code = in.number<std::uint8_t>();
    status.signal = in.number<std::uint8_t>();
    if (state > static_cast<std::uint8_t>(CommandStatus::State::ended) || status.signal > 127) return std::nullopt;
    status.state = static_cast<CommandStatus::State>(state);
    if (in.left() > kCommandTail) return std::nullopt;
    status.tail = in.rest();
    return if_done(in, std::move(status));
}

void append_dial(std::string& out, std::uint64_t id, const Dial& dial) {
    std::string payload;
    put(payload, dial.port);
    put(payload, dial.credit);
    append_frame(out, FrameType::dial, id, payload);
}

std::optional<Dial> decode_dial(std::string_view payload) {
    Cursor in(payload);
    Dial dial;
    dial.port = in.number<std::uint16_t>();
    dial.credit = in.number<std::uint32_t>();
    return if_done(in, dial);
}

void append_close(std::string& out, std::uint64_t id, const Close& close) {
    std::string payload;
    put_error(payload, close.error);
    append_frame(out, FrameType::close, id, payload);
}

std::optional<Close> decode_close(std::string_view payload) {
    Cursor in(payload);
    const Close close{.error = take_error(in)};
    return if_done(in, close);
}

}  // namespace sandbox::guest
