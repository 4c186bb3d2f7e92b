#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sandbox/guest/frame.hpp>

namespace sandbox::guest {

/// Frames on their way to the host. Answers always find room; output only while has_room(), so that a slow host slows
/// the processes down and memory stays bounded.
class OutQueue {
public:
    static constexpr std::size_t kRoom = std::size_t{256} * 1024;

    [[nodiscard]] bool empty() const { return head_ == bytes_.size(); }
    [[nodiscard]] std::size_t size() const { return bytes_.size() - head_; }
    [[nodiscard]] bool has_room() const { return size() < kRoom; }

    /// For append_x().
    [[nodiscard]] std::string& bytes() { return bytes_; }

    /// Reads at most `limit` bytes (and kMaxPayload) from `fd` straight into a frame. Returns what read() did; without
    /// bytes no frame is added.
    [[nodiscard]] std::ptrdiff_t read_frame(int fd, FrameType type, std::uint64_t id, std::size_t limit);

    /// Writes what `fd` takes. False, with errno, when it fails for good.
    [[nodiscard]] bool write_to(int fd);

    void clear();

private:
    std::string bytes_;
    std::size_t head_ = 0;
};

}  // namespace sandbox::guest
