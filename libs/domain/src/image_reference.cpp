#include <algorithm>

#include <sandbox/domain/validation.hpp>

namespace sandbox::domain {

namespace {

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
constexpr bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
constexpr bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
constexpr bool is_word(char c) {
    return is_digit(c) || is_lower(c) || is_upper(c) || c == '_';
}

/// Lowercase letters and digits, with one of . _ __ or any number of hyphens between them.
bool is_path_component(std::string_view text) {
    const auto is_alnum = [](char c) { return is_digit(c) || is_lower(c); };
    if (text.empty() || !is_alnum(text.front()) || !is_alnum(text.back())) return false;
    for (std::size_t i = 0; i < text.size();) {
        if (is_alnum(text[i])) {
            ++i;
            continue;
        }
        auto end = i;
        while (!is_alnum(text[end])) ++end;  // ends: the last character is one
        const auto separator = text.substr(i, end - i);
        if (separator != "." && separator != "_" && separator != "__" &&
            separator.find_first_not_of('-') != std::string_view::npos)
            return false;
        i = end;
    }
    return true;
}

bool is_port(std::string_view text) {
    return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, is_digit);
}

bool is_host_label(std::string_view text) {
    return !text.empty() && text.front() != '-' && text.back() != '-' &&
           std::ranges::all_of(text, [](char c) { return (is_word(c) && c != '_') || c == '-'; });
}

/// registry.example.com, localhost:5000, [::1]:5000
bool is_host(std::string_view text) {
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string_view::npos || end < 3) return false;
        const auto address = text.substr(1, end - 1);
        const auto rest = text.substr(end + 1);
        return address.find_first_not_of("0123456789abcdefABCDEF:") == std::string_view::npos &&
               (rest.empty() || (rest.front() == ':' && is_port(rest.substr(1))));
    }
    if (const auto colon = text.find(':'); colon != std::string_view::npos) {
        if (!is_port(text.substr(colon + 1))) return false;
        text = text.substr(0, colon);
    }
    while (true) {
        const auto dot = text.find('.');
        if (!is_host_label(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

/// What makes a first component a registry's host and no part of the path.
bool looks_like_host(std::string_view component) {
    return component == "localhost" || component.find_first_of(".:[") != std::string_view::npos ||
           std::ranges::any_of(component, is_upper);
}

bool is_tag(std::string_view text) {
    return !text.empty() && text.size() <= 128 && is_word(text.front()) &&
           std::ranges::all_of(text, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

/// sha256:<at least 32 hexadecimal digits>
bool is_digest(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const auto algorithm = text.substr(0, colon);
    const auto digits = text.substr(colon + 1);
    return (is_lower(algorithm.front()) || is_upper(algorithm.front())) &&
           std::ranges::all_of(algorithm, [](char c) { return is_word(c) || c == '+' || c == '.' || c == '-'; }) &&
           digits.size() >= 32 && digits.size() <= 256 &&
           digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

bool is_image_reference(std::string_view text) noexcept {
    constexpr std::size_t kLongestName = 255;
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        if (!is_digest(text.substr(at + 1))) return false;
        text = text.substr(0, at);
    }
    // A colon after the last slash begins the tag; one before it belongs to the host.
    const auto last_slash = text.rfind('/');
    const auto colon = text.rfind(':');
    if (colon != std::string_view::npos && (last_slash == std::string_view::npos || colon > last_slash)) {
        if (!is_tag(text.substr(colon + 1))) return false;
        text = text.substr(0, colon);
    }
    if (text.empty() || text.size() > kLongestName) return false;

    if (const auto slash = text.find('/'); slash != std::string_view::npos && looks_like_host(text.substr(0, slash))) {
        if (!is_host(text.substr(0, slash))) return false;
        text.remove_prefix(slash + 1);
    }
    while (true) {
        const auto slash = text.find('/');
        if (!is_path_component(text.substr(0, slash))) return false;
        if (slash == std::string_view::npos) return true;
        text.remove_prefix(slash + 1);
    }
}

}  // namespace sandbox::domain
