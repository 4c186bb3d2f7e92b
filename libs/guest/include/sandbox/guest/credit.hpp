#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sandbox::guest {

/// What this side may still send on a stream.
class SendCredit {
public:
    explicit SendCredit(std::uint32_t initial = 0) : left_(initial) {}

    [[nodiscard]] std::size_t left() const { return left_; }
    void grant(std::uint32_t bytes) { left_ = std::min<std::uint64_t>(std::uint64_t{left_} + bytes, UINT32_MAX); }
    void spend(std::size_t bytes) { left_ -= std::min<std::uint64_t>(bytes, left_); }

private:
    std::uint64_t left_;
};

/// What the other side may still send on a stream, and when to let it send more.
class ReceiveCredit {
public:
    explicit ReceiveCredit(std::uint32_t window) : window_(window), left_(window) {}

    /// Bytes have come. False when they were more than was granted: the other side breaks the protocol.
    [[nodiscard]] bool receive(std::size_t bytes) {
        if (bytes > left_) return false;
        left_ -= static_cast<std::uint32_t>(bytes);
        return true;
    }
    /// Bytes have been passed on. Returns the credit to send now, or 0; it comes in halves of the window at least, so
    /// that small pieces don't each cost a frame.
    [[nodiscard]] std::uint32_t consume(std::size_t bytes) {
        consumed_ += static_cast<std::uint32_t>(bytes);
        if (consumed_ < window_ / 2) return 0;
        const auto granted = consumed_;
        consumed_ = 0;
        left_ += granted;
        return granted;
    }

private:
    std::uint32_t window_;
    std::uint32_t left_;
    std::uint32_t consumed_ = 0;
};

}  // namespace sandbox::guest
