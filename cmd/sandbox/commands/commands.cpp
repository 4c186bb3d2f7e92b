#include "commands.hpp"

namespace sandbox::cli {

void add_commands(CommandLine& line) {
    add_doctor(line);
    add_create(line);
    add_list(line);
    add_inspect(line);
    add_exec(line);
    add_extend(line);
    add_delete(line);
    add_wait(line);
    add_cancel(line);
    add_operations(line);
    add_events(line);
    add_node(line);
    add_agent(line);
    add_tunnels(line);
    add_mcp_config(line);
    add_config(line);
    add_completion(line);
}

}  // namespace sandbox::cli
