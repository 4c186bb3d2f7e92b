#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/domain/spec.hpp>

namespace sandbox::domain {

/// The least that a sandbox may ask for.
inline constexpr Resources kFloors{1, 64, 64, 1};

/// With a least value for each quantity.
[[nodiscard]] Resources read_resources(const nlohmann::json& json, const std::string& path, Problems& problems,
                                       UnknownFields unknown, const Resources& floors);

}  // namespace sandbox::domain
