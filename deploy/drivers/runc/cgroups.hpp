#pragma once

#include <string>

#include <sandbox/base/error.hpp>

namespace sandbox::driver_runc {

/// Kills every process in the cgroups of this name, of whatever hierarchy, and removes them: also what a runc that was
/// killed half-way has left, which runc itself does not find again. Errors: unavailable after ten seconds.
[[nodiscard]] Result<void> empty_cgroups(const std::string& name);

}  // namespace sandbox::driver_runc
