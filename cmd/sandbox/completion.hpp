#pragma once

#include <span>
#include <string>
#include <string_view>

#include "command_line.hpp"

namespace sandbox::cli {

inline constexpr std::string_view kCompleteCommand = "__complete";

/// `sandbox __complete -- WORD...`: prints what the last word may become, one a line, with a tab and a description
/// where there is one. Words before it are the command line so far. Never fails: a server that does not answer within a
/// second adds nothing.
int complete(CommandLine& line, std::span<const std::string> words);

}  // namespace sandbox::cli
