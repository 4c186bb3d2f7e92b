#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <sandbox/base/id.hpp>
#include <sandbox/base/json_reader.hpp>

/// What the readers of requests and of answers share.
namespace sandbox::api {

/// Parses a body, has `read(json, problems)` read it, and reports all problems together.
template <class Read>
[[nodiscard]] auto read_body(std::string_view body, Read read, std::span<const std::string_view> may_hold_nul = {})
    -> Result<decltype(read(std::declval<const nlohmann::json&>(), std::declval<Problems&>()))> {
    auto json = parse_json(body, may_hold_nul);
    if (!json) return fail(std::move(json.error()));
    Problems problems;
    auto value = read(*json, problems);
    if (!problems.empty()) return fail(problems.to_error());
    return value;
}

/// The required field `name`, read by `read(json, path, problems)`; a default value when it is absent.
template <class Read>
[[nodiscard]] auto required(ObjectReader& reader, std::string_view name, Read read) {
    using T = decltype(read(std::declval<const nlohmann::json&>(), std::string(), reader.problems()));
    const auto* field = reader.required_field(name);
    return field ? read(*field, reader.path_of(name), reader.problems()) : T{};
}

/// The elements of an array field, each read by `read(json, path, problems)`; empty when it is absent.
template <class Read>
[[nodiscard]] auto items(ObjectReader& reader, std::string_view name, Read read) {
    std::vector<decltype(read(std::declval<const nlohmann::json&>(), std::string(), reader.problems()))> result;
    for (const auto& element : reader.array(name))
        result.push_back(read(element.value, element.path, reader.problems()));
    return result;
}

/// An id as an element or field of its own.
template <class I>
[[nodiscard]] I read_id(const nlohmann::json& json, const std::string& path, Problems& problems) {
    std::optional<I> id;
    if (const auto* text = json.get_ptr<const nlohmann::json::string_t*>()) id = I::parse(*text);
    if (!id) problems.add(path, "must be a UUID");
    return id.value_or(I{});
}

}  // namespace sandbox::api
