#pragma once

#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

/// Records between the database and the domain. They were checked when they came in, so one that can't be read is a
/// fault of ours or of somebody's hand: these throw std::runtime_error, which the pool turns into internal.
namespace sandbox::store::postgres {

[[nodiscard]] nlohmann::json json_of(const std::string& text);

template <class T>
[[nodiscard]] T record_of(const nlohmann::json& json, T (*read)(const nlohmann::json&, const std::string&, Problems&)) {
    Problems problems;
    T record = read(json, "", problems);
    if (!problems.empty()) throw std::runtime_error(problems.to_error().message());
    return record;
}
template <class T>
[[nodiscard]] T record_of(const std::string& text, T (*read)(const nlohmann::json&, const std::string&, Problems&)) {
    return record_of(json_of(text), read);
}

}  // namespace sandbox::store::postgres
