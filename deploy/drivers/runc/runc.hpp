#pragma once

#include <string>

#include <sandbox/base/error.hpp>

#include "place.hpp"

namespace sandbox::driver_runc {

/// Starts the sandbox of this bundle with the two named pipes as its PID 1's standard input and output; nobody waits
/// for it. Errors: unavailable with runc's own reason.
[[nodiscard]] Result<void> run_detached(const Settings& settings, const Place& place);
/// Removes what runc remembers of it; all its processes must have ended. Nothing is no error.
[[nodiscard]] Result<void> forget(const Settings& settings, const Place& place);
/// "1.1.5".
[[nodiscard]] Result<std::string> runc_version(const Settings& settings);

}  // namespace sandbox::driver_runc
