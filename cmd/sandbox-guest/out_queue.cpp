#include "out_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace sandbox::guest {

std::ptrdiff_t OutQueue::read_frame(int fd, FrameType type, std::uint64_t id, std::size_t limit) {
    const auto before = bytes_.size();
    limit = std::min(limit, kMaxPayload);
    std::ptrdiff_t count = 0;
    int error = 0;
    bytes_.resize_and_overwrite(before + kHeaderSize + limit + 1, [&](char* memory, std::size_t) {
        char* const frame = memory + before;
        count = read(fd, frame + kHeaderSize, limit);
        error = errno;
        if (count <= 0) return before;
        const auto length = static_cast<std::size_t>(count);
        const auto header = frame_header(type, id, length);
        std::memcpy(frame, header.data(), header.size());
        frame[kHeaderSize + length] = kEndMark;
        return before + kHeaderSize + length + 1;
    });
    errno = error;
    return count;
}

bool OutQueue::write_to(int fd) {
    while (!empty()) {
        const auto count = write(fd, bytes_.data() + head_, size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        head_ += static_cast<std::size_t>(count);
        // What has gone is cut off seldom, and never much is moved.
        if (empty()) {
            clear();
        } else if (head_ >= kRoom) {
            bytes_.erase(0, head_);
            head_ = 0;
        }
    }
    return true;
}

void OutQueue::clear() {
    // A burst of answers leaves no memory behind.
    if (bytes_.capacity() > 4 * kRoom) std::string().swap(bytes_);
    bytes_.clear();
    head_ = 0;
}

}  // namespace sandbox::guest
