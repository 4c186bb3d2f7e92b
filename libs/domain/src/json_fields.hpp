#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <sandbox/base/id.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/time.hpp>
#include <sandbox/domain/spec.hpp>

/// Fields that several entities have, read and written in one way.
namespace sandbox::domain {

/// An absent optional value is written as null.
template <class T>
[[nodiscard]] nlohmann::json or_null(const std::optional<T>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}
template <class Tag>
[[nodiscard]] nlohmann::json or_null(const std::optional<Id<Tag>>& id) {
    return id ? nlohmann::json(id->text()) : nlohmann::json(nullptr);
}
[[nodiscard]] inline nlohmann::json or_null(const std::optional<Timestamp>& time) {
    return time ? nlohmann::json(format_time(*time)) : nlohmann::json(nullptr);
}

/// A pressure as people would write it: 0.1 rather than the double nearest to the float, 0.10000000149.
[[nodiscard]] nlohmann::json short_number(float value);

template <class Tag>
void read_id(ObjectReader& reader, std::string_view name, std::optional<Id<Tag>>& into) {
    const auto text = reader.optional_string(name);
    if (!text) return;
    into = Id<Tag>::parse(*text);
    if (!into) reader.problem(name, "must be a UUID");
}

/// Required: an absent id is a problem.
template <class Tag>
void read_id(ObjectReader& reader, std::string_view name, Id<Tag>& into) {
    std::optional<Id<Tag>> id;
    if (reader.required_field(name)) read_id(reader, name, id);
    into = id.value_or(Id<Tag>{});
}

[[nodiscard]] std::optional<Timestamp> optional_time(ObjectReader& reader, std::string_view name);
/// Required: an absent time is a problem.
[[nodiscard]] Timestamp read_time(ObjectReader& reader, std::string_view name);

/// A required field that has a reader of its own: read_tunnel, say. A default value when it is absent.
template <class T>
[[nodiscard]] T required_object(ObjectReader& reader, std::string_view name,
                                T (*read)(const nlohmann::json&, const std::string&, Problems&)) {
    if (const auto* field = reader.required_field(name)) return read(*field, reader.path_of(name), reader.problems());
    return T{};
}
template <class T>
[[nodiscard]] std::optional<T> optional_object(ObjectReader& reader, std::string_view name,
                                               T (*read)(const nlohmann::json&, const std::string&, Problems&)) {
    if (const auto* field = reader.field(name)) return read(*field, reader.path_of(name), reader.problems());
    return std::nullopt;
}
template <class T>
[[nodiscard]] std::vector<T> object_array(ObjectReader& reader, std::string_view name,
                                          T (*read)(const nlohmann::json&, const std::string&, Problems&)) {
    std::vector<T> items;
    for (const auto& element : reader.array(name))
        items.push_back(read(element.value, element.path, reader.problems()));
    return items;
}

/// A spec from a peer of any version.
[[nodiscard]] inline SandboxSpec read_peer_spec(const nlohmann::json& json, const std::string& path,
                                                Problems& problems) {
    return read_spec(json, path, problems, UnknownFields::ignore);
}

/// Text from a process or a peer that is kept as text: NUL, which databases refuse, becomes U+FFFD.
[[nodiscard]] std::string without_nul(std::string text);

}  // namespace sandbox::domain
