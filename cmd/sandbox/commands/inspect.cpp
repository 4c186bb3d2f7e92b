#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "../operations.hpp"
#include "../show.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

std::string moment(Timestamp time, Timestamp now) {
    return fmt::format("{} ({})", format_time(time), from_now(time, now));
}

std::string joined(const std::map<std::string, std::string>& map) {
    std::string text;
    for (const auto& [key, value] : map) text += (text.empty() ? "" : ", ") + key + "=" + value;
    return printable_line(text);
}

/// Names only: values may be secrets.
std::string names_of(const std::map<std::string, std::string>& env) {
    std::vector<std::string> names;
    for (const auto& [name, value] : env) names.push_back(name);
    return printable_line(fmt::format("{} (values with --json)", fmt::join(names, ", ")));
}

std::string signals_of(const domain::Signals& signals) {
    std::vector<std::string_view> set;
    if (signals.untrusted_repository) set.emplace_back("untrusted repository");
    if (signals.executes_generated_code) set.emplace_back("executes generated code");
    if (signals.needs_secrets) set.emplace_back("needs secrets");
    if (signals.host_mounts) set.emplace_back("host mounts");
    return fmt::format("{}", fmt::join(set, ", "));
}

std::string startup_of(const domain::Startup& startup) {
    if (startup.running) return "running";
    return startup.exit_code ? fmt::format("ended with status {}", *startup.exit_code) : std::string("ended");
}

void add_spec(Properties& properties, const domain::SandboxSpec& spec) {
    const auto& resources = spec.resources;
    properties.add("Resources", fmt::format("{}, {} memory, {} disk, {} processes", cores(resources.cpu_millis),
                                            mib(resources.memory_mib), mib(resources.disk_mib), resources.pids));
    properties.add("Network", std::string(to_text(spec.network)));
    properties.add("Sensitivity", std::string(to_text(spec.sensitivity)));
    if (const auto signals = signals_of(spec.signals); !signals.empty()) properties.add("Signals", signals);
    if (!spec.labels.empty()) properties.add("Labels", joined(spec.labels));
    if (!spec.env.empty()) properties.add("Environment", names_of(spec.env));
    if (!spec.command.empty()) properties.add("Command", printable_line(shell_words(spec.command)));
    if (spec.agent) properties.add("Agent", printable_line(*spec.agent));
}

std::string details(const domain::Sandbox& sandbox, Timestamp now, bool colors) {
    Properties properties;
    const auto state = state_cell(sandbox.state);
    properties.add("ID", sandbox.id.text());
    properties.add("State", colored(state.text, state.color, colors));
    // It outlives what it was about: a running sandbox keeps the error of the last exec that failed.
    const bool failed = sandbox.state == domain::SandboxState::failed;
    if (sandbox.failure) properties.add(failed ? "Failure" : "Last failure", printable_line(*sandbox.failure));
    properties.add("Image", printable_line(sandbox.spec.image));
    properties.add("Tenant", printable_line(sandbox.spec.tenant));
    properties.add("Node", sandbox.node_id.text());
    properties.add("Isolation", std::string(to_text(sandbox.isolation)));
    properties.add("Risk", std::to_string(sandbox.risk_score));
    add_spec(properties, sandbox.spec);
    properties.add("Created", moment(sandbox.created_at, now));
    properties.add("Updated", moment(sandbox.updated_at, now));
    properties.add("Expires", moment(sandbox.expires_at, now));
    for (const auto& tunnel : sandbox.tunnels)
        properties.add("Tunnel", printable_line(fmt::format("{} to port {} ({})", tunnel.public_url,
                                                            tunnel.container_port, to_text(tunnel.state))));
    if (!sandbox.placement_reasons.empty())
        properties.add("Placement", printable_line(fmt::format("{}", fmt::join(sandbox.placement_reasons, "; "))));
    auto text = properties.text();
    if (sandbox.startup) {
        text += "Start-up command: " + startup_of(*sandbox.startup) + "\n";
        if (!sandbox.startup->tail.empty()) text += printable(sandbox.startup->tail);
        if (text.back() != '\n') text += '\n';
    }
    return text;
}

Task<Outcome> inspect(Session& session, std::string given) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto id = co_await resolve_sandbox(**client, std::move(given));
    if (!id) co_return pass_on(id);
    auto sandbox = co_await (*client)->sandbox(*id, in(kRequestTime));
    if (!sandbox) co_return pass_on(sandbox);
    auto& output = session.output();
    if (output.json())
        output.document(*sandbox);
    else
        output.out(output.quiet() ? sandbox->id.text() + "\n" : details(*sandbox, session.now(), output.colors()));
    co_return kDone;
}

}  // namespace

void add_inspect(CommandLine& line) {
    auto id = std::make_shared<std::string>();
    auto& command = line.add(line.root(), "inspect", "Show everything about one sandbox",
                             {"sandbox inspect 9f1c2ab3", "sandbox inspect 9f1c2ab3 --json"});
    command.add_option("ID", *id, "The sandbox's id, or six or more characters of its beginning or end")
        ->type_name("")
        ->required();
    line.on_chosen(command, [id]() -> Action { return [id](Session& session) { return inspect(session, *id); }; });
}

}  // namespace sandbox::cli
