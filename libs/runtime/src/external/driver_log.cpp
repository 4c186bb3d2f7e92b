#include "external/driver_log.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>

namespace sandbox::runtime::external {

namespace {

constexpr std::size_t kLineLimit = 4096;
constexpr std::size_t kMostLines = 1000;
constexpr std::size_t kTailLimit = 500;
/// A shorter value is found in too many places that have nothing to do with it.
constexpr std::size_t kLeastMasked = 4;

std::string printable(std::string_view bytes) {
    auto text = to_utf8(bytes);
    std::ranges::replace_if(
        text, [](char byte) { return static_cast<unsigned char>(byte) < 0x20U || byte == 0x7F; }, ' ');
    const auto end = text.find_last_not_of(' ');
    text.resize(end == std::string::npos ? 0 : end + 1);
    return text;
}

/// The last bytes of it, cut between characters.
std::string end_of(std::string text, std::size_t limit) {
    if (text.size() <= limit) return text;
    constexpr std::string_view kEllipsis = "…";
    auto begin = text.size() - (limit - kEllipsis.size());
    while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) ++begin;
    return std::string(kEllipsis) + text.substr(begin);
}

}  // namespace

Mask::Mask(const std::vector<std::string>& values) {
    auto keep = [this](std::string_view value) {
        if (value.size() >= kLeastMasked) values_.emplace_back(value);
    };
    for (const auto& value : values) {
        keep(value);
        for (std::string_view rest = value; !rest.empty();) {
            const auto line = rest.substr(0, rest.find('\n'));
            if (line.size() < value.size()) keep(line);
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        }
    }
    std::ranges::sort(values_, std::greater(), &std::string::size);
}

std::string Mask::apply(std::string text) const {
    for (const auto& value : values_)
        for (auto at = text.find(value); at != std::string::npos; at = text.find(value, at + 3))
            text.replace(at, value.size(), "***");
    return text;
}

void DriverLog::append(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto end = bytes.find('\n');
        const auto piece = bytes.substr(0, end);
        const auto kept = piece.substr(0, kLineLimit - line_.size());
        line_ += kept;
        line_is_cut_ = line_is_cut_ || kept.size() < piece.size();
        if (end == std::string_view::npos) return;
        end_line();
        bytes.remove_prefix(end + 1);
    }
}

void DriverLog::end_line() {
    auto line = mask_.apply(std::move(line_));
    if (line_is_cut_) line += "…";
    line = printable(line);
    line_.clear();
    line_is_cut_ = false;
    if (line.empty()) return;
    if (lines_++ < kMostLines && sink_) sink_(line);
    tail_ = end_of(tail_.empty() ? std::move(line) : tail_ + " | " + line, kTailLimit);
}

void DriverLog::finish() {
    end_line();
    if (lines_ > kMostLines && sink_) sink_(fmt::format("… and {} lines more", lines_ - kMostLines));
    lines_ = 0;
}

}  // namespace sandbox::runtime::external
