// The output of commands, cut to what a model can take in.
#include <algorithm>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>

#include "results.hpp"

namespace sandbox::mcp {
namespace {

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

/// How long a character is by its first byte.
std::size_t length_of(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
};
/// The character that the byte at `at` is part of; that byte alone when it is in none.
Range character_at(std::string_view bytes, std::size_t at) {
    auto begin = at;
    while (begin > 0 && at - begin < 3 && continues_character(bytes[begin])) --begin;
    const auto length = length_of(bytes[begin]);
    if (begin + length > at && begin + length <= bytes.size() && is_utf8(bytes.substr(begin, length)))
        return {.begin = begin, .end = begin + length};
    return {.begin = at, .end = at + 1};
}

/// `at`, or where the character that reaches over it begins or ends.
std::size_t boundary_before(std::string_view bytes, std::size_t at) {
    return at >= bytes.size() ? bytes.size() : character_at(bytes, at).begin;
}
std::size_t boundary_after(std::string_view bytes, std::size_t at) {
    if (at >= bytes.size()) return bytes.size();
    const auto found = character_at(bytes, at);
    return found.begin == at ? at : found.end;
}

/// A cut is better seen at the end of a line, if one is near.
constexpr std::size_t kNear = 200;

std::size_t line_end_before(std::string_view bytes, std::size_t at) {
    const auto found = bytes.substr(0, at).rfind('\n');
    return found != std::string_view::npos && at - found <= std::min(kNear, at / 2) ? found + 1 : at;
}
std::size_t line_begin_after(std::string_view bytes, std::size_t at) {
    const auto found = bytes.find('\n', at);
    const auto near = std::min(kNear, (bytes.size() - at) / 2);
    return found != std::string_view::npos && found - at <= near ? found + 1 : at;
}

}  // namespace

std::string_view to_text(Stream stream) noexcept {
    return stream == Stream::out ? "stdout" : "stderr";
}

std::string kept_bytes(const domain::Output& output, Stream stream) {
    const auto& base64 = stream == Stream::out ? output.stdout_base64 : output.stderr_base64;
    if (base64)
        if (auto bytes = base64_decode(*base64)) return std::move(*bytes);
    return stream == Stream::out ? output.stdout_text : output.stderr_text;
}

Page page_of(std::string_view bytes, std::size_t offset, std::size_t limit) {
    const auto begin = boundary_before(bytes, offset);
    auto end = boundary_before(bytes, std::min(bytes.size() - begin, limit) + begin);
    if (end == begin && begin < bytes.size()) end = character_at(bytes, begin).end;
    return {.bytes = std::string(bytes.substr(begin, end - begin)), .offset = begin, .end = end};
}

std::string cut(const std::string& bytes, std::size_t limit, const domain::Operation& operation, Stream stream) {
    if (bytes.size() <= limit) return to_utf8(bytes);
    const std::string_view all = bytes;
    const auto head = line_end_before(all, boundary_before(all, limit / 2));
    const auto tail = line_begin_after(all, boundary_after(all, all.size() - (limit - limit / 2)));
    const auto* exact = is_utf8(all) ? "" : "; this is no text: from offset 0 on the exact bytes come as base64";
    return fmt::format(
        "{}{}[… {} of {} bytes are left out here. To read on: sandbox_operation with operation_id \"{}\", stream "
        "\"{}\", offset {}{} …]\n{}",
        to_utf8(all.substr(0, head)), all.substr(0, head).ends_with('\n') ? "" : "\n", tail - head, all.size(),
        operation.id.text(), to_text(stream), head, exact, to_utf8(all.substr(tail)));
}

}  // namespace sandbox::mcp
