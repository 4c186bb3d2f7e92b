#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sandbox/guest/frame.hpp>

#include "marks.hpp"

namespace sandbox::guest {

std::array<char, kHeaderSize> frame_header(FrameType type, std::uint64_t id, std::size_t length) {
    if (length > kMaxPayload) {
        (void)std::fputs("a frame's payload is longer than kMaxPayload\n", stderr);
        std::abort();
    }
    std::array<char, kHeaderSize> header{};
    header[0] = kBeginMark;
    header[1] = static_cast<char>(type);
    for (unsigned i = 0; i < 4; ++i) header[2 + i] = static_cast<char>(length >> (8 * i));
    for (unsigned i = 0; i < 8; ++i) header[6 + i] = static_cast<char>(id >> (8 * i));
    return header;
}

void append_frame(std::string& out, FrameType type, std::uint64_t id, std::string_view payload) {
    const auto header = frame_header(type, id, payload.size());
    out.append(header.data(), header.size());
    out.append(payload);
    out.push_back(kEndMark);
}

void append_bytes(std::string& out, FrameType type, std::uint64_t id, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto piece = bytes.substr(0, kMaxPayload);
        append_frame(out, type, id, piece);
        bytes.remove_prefix(piece.size());
    }
}

}  // namespace sandbox::guest
