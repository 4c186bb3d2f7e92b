#pragma once

#include <string>
#include <string_view>

namespace sandbox {

/// The project's version: "0.1.0".
[[nodiscard]] std::string_view version() noexcept;
/// The commit this was built from, shortened, or "unknown" outside a checkout.
[[nodiscard]] std::string_view commit() noexcept;
/// What --version prints: "sandboxd 0.1.0 (commit 1a2b3c4)".
[[nodiscard]] std::string version_line(std::string_view program);

}  // namespace sandbox
