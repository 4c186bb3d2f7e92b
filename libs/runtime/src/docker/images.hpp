#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "docker/creation.hpp"
#include "docker/engine.hpp"

namespace sandbox::runtime::docker {

/// Sees to it that an image is on the host: it is there, or it is pulled, within `pull_timeout`, unless its tag is
/// :local. A cancelled creation ends the pull at once. Errors: as pull_error() says; not_found for a missing :local
/// one.
[[nodiscard]] Task<Result<Image>> provide_image(Engine& engine, std::string reference,
                                                std::chrono::seconds pull_timeout, std::shared_ptr<Creation> creation,
                                                PhaseSink phase, Deadline deadline);

/// The project's own images are built where they are used: "; build it on the worker with …" for those that there is a
/// script for, else nothing.
[[nodiscard]] std::string how_to_build(std::string_view reference);

}  // namespace sandbox::runtime::docker
