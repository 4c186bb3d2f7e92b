#include "tools.hpp"

#include <algorithm>
#include <array>

namespace sandbox::mcp {
namespace {

bool offered(const Tool& tool, const Options& options) {
    return tool.hints.read_only || !options.read_only;
}

}  // namespace

std::span<const Tool> all_tools() {
    static const std::array tools{
        health_tool(), create_tool(),        exec_tool(),          list_tool(),   inspect_tool(),
        extend_tool(), tunnel_create_tool(), tunnel_delete_tool(), delete_tool(), operation_tool(),
        wait_tool(),   agent_list_tool(),    agent_run_tool(),
    };
    return tools;
}

const Tool* find_tool(std::string_view name, const Options& options) {
    const auto tools = all_tools();
    const auto found = std::ranges::find(tools, name, &Tool::name);
    return found != tools.end() && offered(*found, options) ? &*found : nullptr;
}

Json list_of_tools(const Options& options) {
    auto list = Json::array();
    for (const auto& tool : all_tools()) {
        if (!offered(tool, options)) continue;
        list.push_back({{"name", tool.name},
                        {"title", tool.title},
                        {"description", tool.description},
                        {"inputSchema", tool.input(options)},
                        {"outputSchema", tool.output()},
                        {"annotations",
                         {{"readOnlyHint", tool.hints.read_only},
                          {"destructiveHint", tool.hints.destructive},
                          {"idempotentHint", tool.hints.idempotent},
                          {"openWorldHint", tool.hints.open_world}}}});
    }
    return Json{{"tools", std::move(list)}};
}

}  // namespace sandbox::mcp
