#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <sandbox/base/text.hpp>

namespace sandbox {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 255;

constexpr auto kValues = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(kNoDigit);
    for (std::size_t i = 0; i < kAlphabet.size(); ++i)
        values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
    return values;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
    return static_cast<unsigned char>(bytes[at]);
}

/// What stands at a place in a text: a well-formed character of `length` bytes, or the longest start of one that
/// breaks off, which is replaced as a whole.
struct Sequence {
    std::size_t length;
    bool well_formed;
};

Sequence sequence_at(std::string_view bytes, std::size_t at) {
    auto lead = byte_at(bytes, at);
    if (lead < 0x80) return {1, true};
    std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4) return {1, false};
    // The second byte's range keeps out overlong forms, surrogates and what lies past U+10FFFF.
    std::uint32_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    std::uint32_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i == bytes.size()) return {i, false};
        auto next = byte_at(bytes, at + i);
        if (next < low || next > high) return {i, false};
        low = 0x80;
        high = 0xbf;
    }
    return {length, true};
}

/// Levenshtein distance between `word` and the whole candidate, and between `word` and the nearest start of it.
struct Distances {
    std::size_t whole;
    std::size_t start;
};

Distances distances(std::string_view word, std::string_view candidate) {
    std::vector<std::size_t> row(word.size() + 1);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
    auto start = row.back();
    for (std::size_t j = 1; j <= candidate.size(); ++j) {
        auto diagonal = row[0];
        row[0] = j;
        for (std::size_t i = 1; i <= word.size(); ++i) {
            auto replaced = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
            diagonal = row[i];
            row[i] = std::min({replaced, row[i] + 1, row[i - 1] + 1});
        }
        start = std::min(start, row.back());
    }
    return {row.back(), start};
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    auto put = [&](std::uint32_t word, std::size_t digits) {
        for (std::size_t i = 0; i < 4; ++i) text += i < digits ? kAlphabet[word >> (18 - 6 * i) & 63] : '=';
    };
    std::size_t at = 0;
    for (; at + 3 <= bytes.size(); at += 3)
        put(byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2), 4);
    if (bytes.size() - at == 1) put(byte_at(bytes, at) << 16, 2);
    if (bytes.size() - at == 2) put(byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8, 3);
    return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    for (std::size_t at = 0; at < text.size(); at += 4) {
        bool last = at + 4 == text.size();
        std::size_t digits = last ? 4 - padding : 4;
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            std::uint32_t value = i < digits ? kValues[byte_at(text, at + i)] : 0;
            if (value == kNoDigit) return std::nullopt;
            word = word << 6 | value;
        }
        for (std::size_t i = 0; i + 1 < digits; ++i) bytes += static_cast<char>(word >> (16 - 8 * i) & 0xff);
        // Bits that no byte takes are zero in the one right form.
        if (digits < 4 && (word & (digits == 2 ? 0xffffU : 0xffU)) != 0) return std::nullopt;
    }
    return bytes;
}

bool is_utf8(std::string_view bytes) noexcept {
    for (std::size_t at = 0; at < bytes.size();) {
        auto sequence = sequence_at(bytes, at);
        if (!sequence.well_formed) return false;
        at += sequence.length;
    }
    return true;
}

std::string to_utf8(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
        auto sequence = sequence_at(bytes, at);
        text += sequence.well_formed ? bytes.substr(at, sequence.length) : "\xef\xbf\xbd";
        at += sequence.length;
    }
    return text;
}

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates) {
    // Longer words are nobody's slip, and the comparison is quadratic.
    if (word.empty() || word.size() > 64) return std::nullopt;
    std::optional<std::string_view> best;
    std::optional<std::string_view> best_start;
    auto least = std::min(std::max<std::size_t>(2, word.size() / 3), word.size() - 1) + 1;
    auto least_start = word.size() < 3 ? 0 : word.size() / 4 + 1;
    for (auto candidate : candidates) {
        auto [whole, start] = distances(word, candidate);
        if (whole < least) {
            least = whole;
            best = candidate;
        }
        if (start < least_start) {
            least_start = start;
            best_start = candidate;
        }
    }
    return best ? best : best_start;
}

std::string shortened(std::string_view text, std::size_t limit) {
    constexpr std::string_view kEllipsis = "…";
    if (text.size() <= limit) return std::string(text);
    auto mark = limit < kEllipsis.size() ? std::string_view() : kEllipsis;
    auto end = limit - mark.size();
    while (end > 0 && (byte_at(text, end) & 0xc0) == 0x80) --end;
    return std::string(text.substr(0, end)).append(mark);
}

}  // namespace sandbox
