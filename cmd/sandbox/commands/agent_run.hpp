#pragma once

#include "commands.hpp"

namespace sandbox::cli {

/// `agent run`, below `agent`.
void add_agent_run(CommandLine& line, CLI::App& agent);

}  // namespace sandbox::cli
