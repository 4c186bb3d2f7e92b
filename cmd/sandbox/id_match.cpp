#include "id_match.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sandbox::cli {
namespace {

/// The digits alone, lowercase.
std::string digits_of(std::string_view id) {
    std::string digits;
    for (const char c : id)
        if (c != '-') digits += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return digits;
}

}  // namespace

bool may_be_short_id(std::string_view given) {
    const auto digits = digits_of(given);
    return digits.size() >= kShortestId && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::string> match_id(std::string_view given, std::span<const std::string> ids, std::string_view what) {
    const auto wanted = digits_of(given);
    std::vector<std::string> found;
    for (const auto& id : ids) {
        const auto digits = digits_of(id);
        if (digits.starts_with(wanted) || digits.ends_with(wanted)) found.push_back(id);
    }
    if (found.size() == 1) return std::move(found.front());
    if (found.empty())
        return fail(Code::not_found, fmt::format("no {} has an id that begins or ends with {}", what, given));
    constexpr std::size_t kShown = 5;
    const auto shown = std::span(found).first(std::min(found.size(), kShown));
    return fail(Code::invalid_argument, fmt::format("{} fits {} {} ids: {}{}", given, found.size(), what,
                                                    fmt::join(shown, ", "), found.size() > kShown ? ", …" : ""));
}

}  // namespace sandbox::cli
