#include <algorithm>

#include <sandbox/http/message.hpp>

#include "text.hpp"

namespace sandbox::http {

void Headers::set(std::string_view name, std::string value) {
    remove(name);
    add(std::string(name), std::move(value));
}

void Headers::remove(std::string_view name) {
    std::erase_if(fields_, [&](const auto& field) { return equal_without_case(field.first, name); });
}

const std::string* Headers::find(std::string_view name) const noexcept {
    for (const auto& [field, value] : fields_) {
        if (equal_without_case(field, name)) return &value;
    }
    return nullptr;
}

bool Headers::has_token(std::string_view name, std::string_view token) const noexcept {
    for (const auto& [field, value] : fields_) {
        if (!equal_without_case(field, name)) continue;
        std::string_view rest = value;
        while (!rest.empty()) {
            auto comma = rest.find(',');
            if (equal_without_case(trimmed(rest.substr(0, comma)), token)) return true;
            rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        }
    }
    return false;
}

const std::string* Request::query_value(std::string_view name) const noexcept {
    auto found = std::ranges::find(query, name, [](const auto& pair) { return std::string_view(pair.first); });
    return found == query.end() ? nullptr : &found->second;
}

}  // namespace sandbox::http
