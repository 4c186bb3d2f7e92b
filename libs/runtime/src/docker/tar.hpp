#pragma once

#include <string>
#include <string_view>

namespace sandbox::runtime::docker {

/// A tar archive (ustar) of one executable file, owned by root, mode 0555, for the engine's archive call.
/// `name` is at most 100 bytes.
[[nodiscard]] std::string tar_of_program(std::string_view name, std::string_view content);

}  // namespace sandbox::runtime::docker
