#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/domain/agents.hpp>

#include "../text.hpp"
#include "agent_run.hpp"

namespace sandbox::cli {
namespace {

Task<Outcome> list_agents(Session& session) {
    auto& output = session.output();
    const auto profiles = domain::agent_profiles();
    if (output.json()) {
        output.document(std::vector<domain::AgentProfile>(profiles.begin(), profiles.end()));
        co_return kDone;
    }
    Table table({"NAME", "AGENT", "EXECUTABLE", "DEFAULT IMAGE", "HOMEPAGE"});
    for (const auto& profile : profiles) {
        if (output.quiet()) output.out(profile.name + "\n");
        table.add({profile.name, profile.display_name, profile.executable,
                   profile.default_image.value_or("none: give --image"), profile.homepage});
    }
    if (!output.quiet()) output.out(table.text(output.colors()));
    co_return kDone;
}

}  // namespace

void add_agent(CommandLine& line) {
    auto& agent = line.add(line.root(), "agent", "Coding agents in sandboxes of their own", {});
    agent.require_subcommand(1);
    auto& list =
        line.add(agent, "list", "List the agents that can be run by name; needs no server", {"sandbox agent list"});
    line.on_chosen(list, []() -> Action { return [](Session& session) { return list_agents(session); }; });
    add_agent_run(line, agent);
}

}  // namespace sandbox::cli
