#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../operations.hpp"
#include "../show.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

struct ListOptions {
    std::optional<std::string> tenant;
    bool all = false;
    std::vector<std::string> states;
};

/// The states to show; none for all of them.
std::vector<std::string> wanted_states(const ListOptions& options) {
    if (!options.states.empty() || options.all) return options.states;
    std::vector<std::string> live;
    for (const auto& [name, state] : domain::kSandboxStateNames)
        if (domain::is_live(state)) live.emplace_back(name);
    return live;
}

std::string table_of(const std::vector<domain::Sandbox>& sandboxes, Timestamp now, bool colors) {
    Table table({"ID", "STATE", "IMAGE", "TENANT", "ISOLATION", "AGE", "EXPIRES"});
    for (const auto& sandbox : sandboxes)
        table.add({sandbox.id.text(), state_cell(sandbox.state), printable_line(sandbox.spec.image),
                   printable_line(sandbox.spec.tenant), std::string(to_text(sandbox.isolation)),
                   rough(std::chrono::floor<std::chrono::seconds>(now - sandbox.created_at)),
                   domain::is_live(sandbox.state) ? from_now(sandbox.expires_at, now) : "-"});
    return table.text(colors);
}

Task<Outcome> list(Session& session, ListOptions options) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    client::ListQuery query;
    query.tenant = options.tenant ? options.tenant : session.environment()("SANDBOX_TENANT");
    query.states = wanted_states(options);
    auto sandboxes = co_await all_sandboxes(**client, query);
    if (!sandboxes) co_return pass_on(sandboxes);
    // An older server does not know `state` and sends them all.
    if (!query.states.empty())
        std::erase_if(*sandboxes, [&](const domain::Sandbox& sandbox) {
            return std::ranges::find(query.states, to_text(sandbox.state)) == query.states.end();
        });

    auto& output = session.output();
    if (output.json())
        output.document(*sandboxes);
    else if (output.quiet())
        for (const auto& sandbox : *sandboxes) output.out(sandbox.id.text() + "\n");
    else if (sandboxes->empty())
        output.note(options.all ? "there are no sandboxes"
                                : "there are no such sandboxes (--all shows ended ones too)");
    else
        output.out(table_of(*sandboxes, session.now(), output.colors()));
    co_return kDone;
}

}  // namespace

void add_list(CommandLine& line) {
    auto options = std::make_shared<ListOptions>();
    auto& command = line.add(line.root(), "list", "List sandboxes, newest first; stopped and failed ones with --all",
                             {"sandbox list", "sandbox list --tenant ci --state running", "sandbox list --all --json",
                              "sandbox delete $(sandbox list --quiet)"});
    command.add_option("--tenant", options->tenant, "Only this tenant's (SANDBOX_TENANT, else everybody's)")
        ->type_name("TENANT");
    command.add_flag("--all", options->all, "Stopped and failed ones too");
    add_repeated(command, "--state", options->states, "Only those in this state; may be repeated",
                 "scheduled|creating|running|stopping|stopped|failed")
        .check(CLI::IsMember({"scheduled", "creating", "running", "stopping", "stopped", "failed"}).description(""));
    line.on_chosen(command,
                   [options]() -> Action { return [options](Session& session) { return list(session, *options); }; });
}

}  // namespace sandbox::cli
