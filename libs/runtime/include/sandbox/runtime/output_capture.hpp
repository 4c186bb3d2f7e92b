#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::runtime {

/// What is kept of one output stream: all of it when it fits the limit, else its first and its last half around one
/// line that says how many bytes are missing. Holds at most `limit_bytes`, whatever is written.
class OutputCapture {
public:
    explicit OutputCapture(std::size_t limit_bytes);

    void append(std::string_view bytes);
    /// So many bytes were written here that nobody has: what comes behind them is all there is of the last half.
    void skip(std::uint64_t bytes);
    /// Bytes written so far, kept or not.
    [[nodiscard]] std::int64_t total_bytes() const noexcept { return total_; }

    struct Kept {
        std::string text;                   // UTF-8; at most the limit, but for replaced bytes
        std::optional<std::string> base64;  // the exact bytes of `text` before replacement, when they were not UTF-8
        bool truncated = false;
        std::int64_t total_bytes = 0;
    };
    /// Ends the capture. A cut never splits a character.
    [[nodiscard]] Kept finish() &&;

private:
    std::string unrolled_tail() &&;

    std::size_t limit_;
    std::size_t head_limit_;
    std::int64_t total_ = 0;
    std::string head_;
    std::vector<char> tail_;      // a ring once it has limit_ - head_limit_ bytes
    std::size_t tail_begin_ = 0;  // of the oldest byte in the ring
};

}  // namespace sandbox::runtime
