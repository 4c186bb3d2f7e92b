#pragma once

#include <string>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>

#include "docker/engine.hpp"

namespace sandbox::runtime::docker {

/// Runs a short program in a container through the engine's own exec, for the little that the guest can't do itself.
/// Errors: unavailable with the end of its output when it fails.
[[nodiscard]] Task<Result<void>> exec_once(Engine& engine, std::string container, ExecRequest request,
                                           Deadline deadline);

}  // namespace sandbox::runtime::docker
