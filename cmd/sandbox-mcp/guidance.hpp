#pragma once

#include <string>
#include <string_view>

#include "options.hpp"

namespace sandbox::mcp {

/// What every model is told once, in ten lines at most.
[[nodiscard]] std::string instructions(const Options& options);

/// The runbook behind sandbox://workflow, in Markdown.
[[nodiscard]] std::string_view workflow();

}  // namespace sandbox::mcp
