#pragma once

#include <string>
#include <string_view>

namespace sandbox::driver_check {

/// Sends SIGKILL to one run of the driver that this process has begun, as a crash of it would be: false when there is
/// none for the action.
[[nodiscard]] bool kill_driver_run(const std::string& driver, std::string_view action);

}  // namespace sandbox::driver_check
