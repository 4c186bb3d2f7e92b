#pragma once

#include "../command_line.hpp"

namespace sandbox::cli {

/// Every command, in the order of the help. One file each.
void add_commands(CommandLine& line);

void add_doctor(CommandLine& line);
void add_create(CommandLine& line);
void add_list(CommandLine& line);
void add_inspect(CommandLine& line);
void add_exec(CommandLine& line);
void add_extend(CommandLine& line);
void add_delete(CommandLine& line);
void add_wait(CommandLine& line);
void add_cancel(CommandLine& line);
void add_operations(CommandLine& line);
void add_events(CommandLine& line);
void add_node(CommandLine& line);
void add_agent(CommandLine& line);
void add_tunnels(CommandLine& line);
void add_mcp_config(CommandLine& line);
void add_config(CommandLine& line);
void add_completion(CommandLine& line);

}  // namespace sandbox::cli
