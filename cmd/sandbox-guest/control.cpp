#include "control.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace sandbox::guest {

namespace {

/// A report as it goes through the control socket and the status pipe, cut behind `what`.
struct Packet {
    Report::Kind kind{};
    Failure failure{};
    int number = 0;
    std::array<char, kMaxWhat> what{};
};
constexpr std::size_t kPacketHead = offsetof(Packet, what);

struct Packed {
    Packet packet;
    std::size_t size = kPacketHead;
};

Packed pack(const Report& report) {
    Packed packed;
    const bool failed = report.kind == Report::Kind::failed;
    packed.packet.kind = report.kind;
    packed.packet.failure = report.failed.kind;
    packed.packet.number = failed ? report.failed.error : report.number;
    const auto length = std::min(report.failed.what.size(), kMaxWhat);
    std::copy_n(report.failed.what.begin(), length, packed.packet.what.begin());
    packed.size += length;
    return packed;
}

Report unpack(const Packed& packed) {
    Report report{.kind = packed.packet.kind, .number = packed.packet.number, .failed = {}};
    if (report.kind == Report::Kind::failed)
        report.failed = {.kind = packed.packet.failure,
                         .error = packed.packet.number,
                         .what = std::string(packed.packet.what.data(), packed.size - kPacketHead)};
    return report;
}

/// A packet with room for three descriptors.
struct Envelope {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> bytes{};
    msghdr header{};
    iovec part{};

    Envelope(char* data, std::size_t size) : part{.iov_base = data, .iov_len = size} {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = bytes.data();
        header.msg_controllen = bytes.size();
    }
    Envelope(const Envelope&) = delete;
    Envelope& operator=(const Envelope&) = delete;
};

}  // namespace

void send_command(const Fd& control, Command command) {
    send(control.get(), &command, 1, MSG_NOSIGNAL);
}

std::expected<Report, NoReport> read_report(const Fd& control) {
    Packed packed;
    const auto count = recv(control.get(), &packed.packet, sizeof packed.packet, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return std::unexpected(NoReport::yet);
    if (count < static_cast<ssize_t>(kPacketHead)) return std::unexpected(NoReport::ever);
    packed.size = static_cast<std::size_t>(count);
    return unpack(packed);
}

void send_report(int control, const Report& report) {
    const auto packed = pack(report);
    ::send(control, &packed.packet, packed.size, MSG_NOSIGNAL);
}

bool send_start(const Fd& control, std::string_view bytes, const std::array<Fd, 3>& stdio) {
    Envelope envelope(const_cast<char*>(bytes.data()), bytes.size());
    auto* first = CMSG_FIRSTHDR(&envelope.header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(3 * sizeof(int));
    const std::array fds{stdio[0].get(), stdio[1].get(), stdio[2].get()};
    std::memcpy(CMSG_DATA(first), fds.data(), sizeof fds);
    return sendmsg(control.get(), &envelope.header, MSG_NOSIGNAL) >= 0;
}

Message receive(const Fd& control, std::span<char> buffer) {
    Message message;
    Envelope envelope(buffer.data(), buffer.size());
    const auto count = recvmsg(control.get(), &envelope.header, MSG_CMSG_CLOEXEC);
    message.bytes = {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
    const auto* first = CMSG_FIRSTHDR(&envelope.header);
    if (first == nullptr || first->cmsg_len != CMSG_LEN(3 * sizeof(int))) return message;
    std::array<int, 3> fds{};
    std::memcpy(fds.data(), CMSG_DATA(first), sizeof fds);
    for (std::size_t i = 0; i < fds.size(); ++i) message.stdio[i] = Fd(fds[i]);
    return message;
}

void write_failure(int status_pipe, const Failed& failed) {
    const auto packed = pack({.kind = Report::Kind::failed, .number = 0, .failed = failed});
    (void)!write(status_pipe, &packed.packet, packed.size);
}

std::optional<Failed> read_failure(const Fd& status_pipe) {
    Packed packed;
    const auto count = read(status_pipe.get(), &packed.packet, sizeof packed.packet);
    if (count < static_cast<ssize_t>(kPacketHead)) return std::nullopt;
    packed.size = static_cast<std::size_t>(count);
    return unpack(packed).failed;
}

}  // namespace sandbox::guest
