#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/base/error.hpp>

namespace sandbox::cli {

inline constexpr std::size_t kShortestId = 6;

/// Whether this could be a shortened id: six or more hexadecimal digits, hyphens aside.
[[nodiscard]] bool may_be_short_id(std::string_view given);

/// The one id that begins or ends with `given`, whatever its hyphens and case.
/// Errors: not_found; invalid_argument when there are several (the message lists them, five at most).
/// `what` names the kind for the message: "sandbox".
[[nodiscard]] Result<std::string> match_id(std::string_view given, std::span<const std::string> ids,
                                           std::string_view what);

}  // namespace sandbox::cli
