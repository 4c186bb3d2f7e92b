#include <span>

#include <sandbox/base/id.hpp>

namespace sandbox {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::optional<std::uint8_t> digit(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
    return std::nullopt;
}

/// Whether a hyphen stands before this byte in the hyphenated form.
bool hyphen_before(std::size_t byte) noexcept {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

}  // namespace

std::optional<Uuid> Uuid::parse(std::string_view text) noexcept {
    if (text.size() != 36) return std::nullopt;
    Uuid uuid;
    std::size_t at = 0;
    for (std::size_t byte = 0; byte < uuid.bytes.size(); ++byte) {
        if (hyphen_before(byte) && text[at++] != '-') return std::nullopt;
        auto high = digit(text[at++]);
        auto low = digit(text[at++]);
        if (!high || !low) return std::nullopt;
        uuid.bytes[byte] = static_cast<std::uint8_t>(*high << 4 | *low);
    }
    return uuid;
}

Uuid Uuid::make_v7(Timestamp now, Random& random) {
    Uuid uuid;
    random.fill(std::span(uuid.bytes).subspan(6));
    auto since = std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count();
    auto milliseconds = static_cast<std::uint64_t>(since < 0 ? 0 : since);
    for (int byte = 5; byte >= 0; --byte) {
        uuid.bytes[static_cast<std::size_t>(byte)] = static_cast<std::uint8_t>(milliseconds & 0xff);
        milliseconds >>= 8;
    }
    uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0f) | 0x70);  // version 7
    uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);  // the RFC's variant
    return uuid;
}

std::string Uuid::text() const {
    std::string text;
    text.reserve(36);
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
        if (hyphen_before(byte)) text += '-';
        text += kDigits[bytes[byte] >> 4];
        text += kDigits[bytes[byte] & 0x0f];
    }
    return text;
}

std::string Uuid::compact() const {
    std::string text;
    text.reserve(32);
    for (auto byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 0x0f];
    }
    return text;
}

}  // namespace sandbox
