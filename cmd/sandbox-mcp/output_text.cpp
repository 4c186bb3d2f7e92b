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

/// The first boundary between characters at `at` or up to three bytes after it.
std::size_t boundary_after(std::string_view bytes, std::size_t at) {
    const auto last = std::min(bytes.size(), at + 3);
    while (at < last && continues_character(bytes[at])) ++at;
    return std::min(at, bytes.size());
}
/// The last one at `at` or up to three bytes before it.
std::size_t boundary_before(std::string_view bytes, std::size_t at) {
    if (at >= bytes.size()) return bytes.size();
    const auto first = at > 3 ? at - 3 : 0;
    auto found = at;
    while (found > first && continues_character(bytes[found])) --found;
    return continues_character(bytes[found]) ? at : found;
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
    const auto begin = boundary_after(bytes, std::min(offset, bytes.size()));
    auto end = boundary_before(bytes, std::min(bytes.size(), begin + limit));
    if (end <= begin && begin < bytes.size()) end = boundary_after(bytes, begin + 1);
    return {.text = to_utf8(bytes.substr(begin, end - begin)), .offset = begin, .end = end};
}

std::string cut(const std::string& bytes, std::size_t limit, const domain::Operation& operation, Stream stream) {
    if (bytes.size() <= limit) return to_utf8(bytes);
    const std::string_view all = bytes;
    const auto head = line_end_before(all, boundary_before(all, limit / 2));
    const auto tail = line_begin_after(all, boundary_after(all, all.size() - (limit - limit / 2)));
    return fmt::format(
        "{}{}[… {} of {} bytes are left out here. To read on: sandbox_operation with operation_id \"{}\", stream "
        "\"{}\", offset {} …]\n{}",
        to_utf8(all.substr(0, head)), all.substr(0, head).ends_with('\n') ? "" : "\n", tail - head, all.size(),
        operation.id.text(), to_text(stream), head, to_utf8(all.substr(tail)));
}

}  // namespace sandbox::mcp
