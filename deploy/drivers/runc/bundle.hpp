#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/domain/spec.hpp>

#include "image.hpp"
#include "place.hpp"

namespace sandbox::driver_runc {

/// What runc is told of one sandbox (the OCI runtime specification's config.json): the one place that decides what a
/// sandbox gets. `disk` is the block device with its workspace.
[[nodiscard]] nlohmann::json bundle_config(const Settings& settings, const Place& place,
                                           const domain::SandboxSpec& spec, const Image& image,
                                           const std::string& disk);

}  // namespace sandbox::driver_runc
