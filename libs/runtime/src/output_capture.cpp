#include <algorithm>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>
#include <sandbox/runtime/output_capture.hpp>

namespace sandbox::runtime {

namespace {

bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Bytes that the character beginning with `lead` has; 1 for what begins none.
std::size_t character_length(char lead) {
    auto byte = static_cast<unsigned char>(lead);
    if (byte >= 0xF0U && byte <= 0xF4U) return 4;
    if (byte >= 0xE0U) return byte < 0xF0U ? 3 : 1;
    return byte >= 0xC2U ? 2 : 1;
}

/// The length of `text` without a character that its end would split.
std::size_t length_without_split_end(std::string_view text) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
        char byte = text[text.size() - back];
        if (is_continuation(byte)) continue;
        return character_length(byte) > back ? text.size() - back : text.size();
    }
    return text.size();
}

/// Where the first whole character of `text` begins; 0 for bytes that are no text anyway.
std::size_t first_whole_character(std::string_view text) {
    std::size_t begin = 0;
    while (begin < text.size() && begin < 4 && is_continuation(text[begin])) ++begin;
    return begin < 4 ? begin : 0;
}

/// Grows in steps that never reserve more than `most`, so that the bound on memory is a bound on what is reserved too.
/// The last step starts from less than half of it, since std::string rounds a smaller one up to twice its capacity.
template <class Container>
void reserve_within(Container& container, std::size_t more, std::size_t most) {
    auto needed = container.size() + more;
    if (needed <= container.capacity()) return;
    auto step = std::max(needed, container.capacity() * 2);
    container.reserve(step > most / 2 ? most : step);
}

}  // namespace

OutputCapture::OutputCapture(std::size_t limit_bytes) : limit_(limit_bytes), head_limit_(limit_bytes / 2) {}

void OutputCapture::append(std::string_view bytes) {
    total_ += static_cast<std::int64_t>(bytes.size());
    auto first = bytes.substr(0, head_limit_ - head_.size());
    reserve_within(head_, first.size(), head_limit_);
    head_.append(first);
    bytes.remove_prefix(first.size());

    const auto ring = limit_ - head_limit_;
    if (bytes.size() >= ring) {
        tail_.assign(bytes.end() - static_cast<std::ptrdiff_t>(ring), bytes.end());
        tail_begin_ = 0;
        return;
    }
    auto fill = bytes.substr(0, ring - tail_.size());
    reserve_within(tail_, fill.size(), ring);
    tail_.insert(tail_.end(), fill.begin(), fill.end());
    bytes.remove_prefix(fill.size());
    while (!bytes.empty()) {
        auto piece = bytes.substr(0, ring - tail_begin_);
        std::ranges::copy(piece, tail_.begin() + static_cast<std::ptrdiff_t>(tail_begin_));
        tail_begin_ = (tail_begin_ + piece.size()) % ring;
        bytes.remove_prefix(piece.size());
    }
}

void OutputCapture::skip(std::uint64_t bytes) {
    // Bounded, since a guest's word counts here: many lies don't overflow it either.
    constexpr std::int64_t kMost = std::int64_t{1} << 61;
    total_ = std::min(kMost, total_ + static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, kMost)));
    head_limit_ = head_.size();
    tail_.clear();
    tail_begin_ = 0;
}

std::string OutputCapture::unrolled_tail() && {
    std::ranges::rotate(tail_, tail_.begin() + static_cast<std::ptrdiff_t>(tail_begin_));
    return {tail_.begin(), tail_.end()};
}

OutputCapture::Kept OutputCapture::finish() && {
    Kept kept;
    kept.total_bytes = total_;
    kept.truncated = static_cast<std::size_t>(total_) > head_.size() + tail_.size();
    auto tail = std::move(*this).unrolled_tail();
    auto& bytes = head_;
    if (kept.truncated) {
        bytes.resize(length_without_split_end(bytes));
        // Room for the line comes off the tail's front, so that the whole stays within the limit.
        constexpr std::size_t kLineRoom = 64;
        tail.erase(0, tail.size() > 4 * kLineRoom ? kLineRoom : 0);
        tail.erase(0, first_whole_character(tail));
        auto missing = total_ - static_cast<std::int64_t>(bytes.size() + tail.size());
        bytes += fmt::format("{}[... {} bytes are missing here ...]\n",
                             bytes.empty() || bytes.ends_with('\n') ? "" : "\n", missing);
    }
    bytes += tail;
    if (is_utf8(bytes)) {
        kept.text = std::move(bytes);
    } else {
        kept.text = to_utf8(bytes);
        kept.base64 = base64_encode(bytes);
    }
    return kept;
}

}  // namespace sandbox::runtime
