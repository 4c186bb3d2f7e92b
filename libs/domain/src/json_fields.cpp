#include "json_fields.hpp"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace sandbox::domain {

nlohmann::json short_number(float value) {
    if (!std::isfinite(value)) return nullptr;
    return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

std::optional<Timestamp> optional_time(ObjectReader& reader, std::string_view name) {
    const auto text = reader.optional_string(name);
    if (!text) return std::nullopt;
    auto time = parse_time(*text);
    if (!time) {
        reader.problem(name, "must be an RFC 3339 time such as 2026-11-30T03:04:05Z");
        return std::nullopt;
    }
    return *time;
}

Timestamp read_time(ObjectReader& reader, std::string_view name) {
    if (!reader.required_field(name)) return {};
    return optional_time(reader, name).value_or(Timestamp{});
}

std::string without_nul(std::string text) {
    if (text.find('\0') == std::string::npos) return text;
    std::string clean;
    clean.reserve(text.size() + 16);
    for (const char c : text) {
        if (c == '\0')
            clean += "\xEF\xBF\xBD";
        else
            clean += c;
    }
    return clean;
}

}  // namespace sandbox::domain
