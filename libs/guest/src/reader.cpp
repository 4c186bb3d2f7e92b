#include <algorithm>
#include <cstring>
#include <functional>

#include <sandbox/guest/reader.hpp>

#include "marks.hpp"
#include "wire.hpp"

namespace sandbox::guest {

namespace {

using Cut = std::expected<std::optional<Frame>, Fault>;

// The frame at the front of the bytes, if it is whole. The header is judged as soon as it is there.
Cut cut(std::string_view bytes) {
    if (!bytes.empty() && bytes.front() != kBeginMark) return std::unexpected(Fault::bad_begin);
    if (bytes.size() < kHeaderSize) return std::nullopt;
    const auto length = get<std::uint32_t>(bytes.substr(2));
    if (length > kMaxPayload) return std::unexpected(Fault::too_long);
    if (bytes.size() < kHeaderSize + length + 1) return std::nullopt;
    if (bytes[kHeaderSize + length] != kEndMark) return std::unexpected(Fault::bad_end);
    return Frame{.type = static_cast<FrameType>(bytes[1]),
                 .id = get<std::uint64_t>(bytes.substr(6)),
                 .payload = bytes.substr(kHeaderSize, length)};
}

std::size_t frame_size(const Frame& frame) {
    return kHeaderSize + frame.payload.size() + 1;
}

}  // namespace

ReadBuffer::ReadBuffer() : memory_(std::make_unique_for_overwrite<char[]>(kCapacity)) {}

std::span<char> ReadBuffer::prepare() {
    // An unread rest is never a whole frame, so once moved to the front it leaves room.
    if (head_ == tail_) {
        head_ = tail_ = 0;
    } else if (kCapacity - head_ < kMaxFrame || tail_ == kCapacity) {
        std::memmove(memory_.get(), memory_.get() + head_, tail_ - head_);
        tail_ -= head_;
        head_ = 0;
    }
    return {memory_.get() + tail_, kCapacity - tail_};
}

void ReadBuffer::commit(std::size_t count) {
    tail_ += count;
}

std::string_view describe(Fault fault) {
    switch (fault) {
        case Fault::bad_begin:
            return "the guest sent bytes that begin no frame";
        case Fault::too_long:
            return "the guest sent a frame that is too long";
        case Fault::bad_end:
            return "the guest sent a frame without its end mark";
    }
    return "the guest broke the protocol";
}

std::expected<std::optional<Frame>, Fault> HostReader::next() {
    if (fault_) return std::unexpected(*fault_);
    if (!open_ && !find_hello()) return std::nullopt;
    auto frame = cut(buffer_.unread());
    if (!frame)
        fault_ = frame.error();
    else if (*frame)
        buffer_.skip(frame_size(**frame));
    return frame;
}

// Skips to the hello that carries our nonce. It is whole in the buffer when this returns true: a guest answers it in
// one small frame, and until that is there we can't tell it from garbage.
bool HostReader::find_hello() {
    const auto bytes = buffer_.unread();
    const std::string_view nonce(nonce_.data(), nonce_.size());
    std::size_t keep_from = bytes.size() - std::min(bytes.size(), kHeaderSize + nonce.size() - 1);
    const std::boyer_moore_horspool_searcher searcher(nonce.begin(), nonce.end());
    for (auto from = bytes.begin();;) {
        const auto found = std::search(from, bytes.end(), searcher);
        if (found == bytes.end()) break;
        const auto at = static_cast<std::size_t>(found - bytes.begin());
        if (at >= kHeaderSize) {
            const auto frame = cut(bytes.substr(at - kHeaderSize));
            if (frame && !*frame) {  // not whole yet: look again from its begin
                keep_from = at - kHeaderSize;
                break;
            }
            if (frame && (*frame)->type == FrameType::hello) {
                skipped_ += at - kHeaderSize;
                buffer_.skip(at - kHeaderSize);
                return open_ = true;
            }
        }
        from = found + 1;
    }
    skipped_ += keep_from;
    buffer_.skip(keep_from);
    return false;
}

std::optional<Frame> GuestReader::next() {
    for (;;) {
        if (hunting_ && !hunt()) return std::nullopt;
        const auto bytes = buffer_.unread();
        buffer_.skip(std::min(bytes.find_first_not_of('\0'), bytes.size()));
        const auto frame = cut(buffer_.unread());
        if (!frame) {
            hunting_ = true;
            zeros_ = 0;
            continue;
        }
        if (*frame) buffer_.skip(frame_size(**frame));
        return *frame;
    }
}

// Skips to the end of a flush. The bytes that put us here are looked at as well, as a flush may begin among them.
bool GuestReader::hunt() {
    const auto bytes = buffer_.unread();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] == '\0') {
            ++zeros_;
        } else if (zeros_ >= kMaxFrame) {
            hunting_ = false;
            buffer_.skip(i);
            return true;
        } else {
            zeros_ = 0;
        }
    }
    buffer_.skip(bytes.size());
    return false;
}

}  // namespace sandbox::guest
