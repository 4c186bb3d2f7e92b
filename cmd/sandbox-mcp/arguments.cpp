#include "arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace sandbox::mcp {
namespace {

constexpr std::string_view kInput = "stdin";

bool holds_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}

/// Notes null and NUL in the value and in all that is in it, where nothing is noted yet.
void note_unfit(const nlohmann::json& value, const std::string& path, Problems& problems) {
    if (problems.full()) return;
    const auto note = [&](const std::string& where, std::string_view what) {
        const bool noted =
            std::ranges::any_of(problems.items(), [&](const auto& item) { return item.starts_with(where + ": "); });
        if (!noted) problems.add(where, what);
    };
    if (value.is_null()) note(path, "must not be null: leave it out instead");
    if (value.is_string() && path != kInput && holds_nul(value.get_ref<const std::string&>()))
        note(path, "must not hold a NUL character");
    if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i) note_unfit(value[i], fmt::format("{}[{}]", path, i), problems);
    if (!value.is_object()) return;
    const ObjectReader members(value, path, problems, UnknownFields::ignore);
    for (const auto& [name, member] : value.items()) {
        if (holds_nul(name)) note(members.path_of(name), "has a name that holds a NUL character");
        note_unfit(member, members.path_of(name), problems);
    }
}

}  // namespace

Result<void> Arguments::end() {
    finish();
    note_unfit(arguments_, "", held);
    if (!held.empty()) return fail(held.to_error());
    return {};
}

void make_integers(nlohmann::json& value) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (value.is_structured()) {
        for (auto& element : value) make_integers(element);
    } else if (value.is_number_float()) {
        const auto number = value.get<double>();
        if (std::trunc(number) == number && std::abs(number) <= kExact) value = static_cast<std::int64_t>(number);
    }
}

}  // namespace sandbox::mcp
