#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <sandbox/async/task.hpp>

#include "bridge.hpp"
#include "call.hpp"
#include "message.hpp"
#include "results.hpp"

namespace sandbox::mcp {

/// What a client may think of a tool before it lets a model call it.
struct Hints {
    bool read_only = false;
    bool destructive = false;
    bool idempotent = false;
    bool open_world = false;
};

/// One tool: what is said of it, and what it does. `run` has its own copy of the arguments and never throws but when
/// its call is cancelled.
struct Tool {
    std::string_view name;
    std::string_view title;
    std::string_view description;
    Hints hints;
    Json (*input)(const Options& options);
    Json (*output)();
    Task<ToolResult> (*run)(Bridge& bridge, Call& call, nlohmann::json arguments);
};

/// Every tool, in the order in which they are listed.
[[nodiscard]] std::span<const Tool> all_tools();
/// The tool of that name that this run offers; nullptr when there is none.
[[nodiscard]] const Tool* find_tool(std::string_view name, const Options& options);
/// The answer to tools/list, without what the revisions add.
[[nodiscard]] Json list_of_tools(const Options& options);

// The tools, one file for each family in tools/.
[[nodiscard]] Tool health_tool();
[[nodiscard]] Tool create_tool();
[[nodiscard]] Tool exec_tool();
[[nodiscard]] Tool list_tool();
[[nodiscard]] Tool inspect_tool();
[[nodiscard]] Tool extend_tool();
[[nodiscard]] Tool tunnel_create_tool();
[[nodiscard]] Tool tunnel_delete_tool();
[[nodiscard]] Tool delete_tool();
[[nodiscard]] Tool operation_tool();
[[nodiscard]] Tool wait_tool();
[[nodiscard]] Tool agent_list_tool();
[[nodiscard]] Tool agent_run_tool();

}  // namespace sandbox::mcp
