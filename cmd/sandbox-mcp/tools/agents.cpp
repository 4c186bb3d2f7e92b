#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sandbox/domain/agents.hpp>

#include "../arguments.hpp"
#include "../schema.hpp"
#include "../steps.hpp"
#include "../tools.hpp"
#include "spec.hpp"

namespace sandbox::mcp {
namespace {

constexpr std::int64_t kCommandTimeout = 900;

std::vector<std::string> agent_names() {
    std::vector<std::string> names;
    for (const auto& profile : domain::agent_profiles()) names.push_back(profile.name);
    return names;
}

Task<ToolResult> list(Bridge& /*bridge*/, Call& /*call*/, nlohmann::json arguments) {
    Arguments given(arguments);
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    ToolResult result;
    auto& agents = result.structure["agents"] = nlohmann::json::array();
    result.text = "Agents that sandbox_agent_run knows:";
    for (const auto& profile : domain::agent_profiles()) {
        agents.push_back(profile);
        result.text += fmt::format(
            "\n{} ({}): {}", profile.name, profile.display_name,
            profile.default_image ? "image " + *profile.default_image : std::string("no image of its own, give one"));
    }
    co_return result;
}

struct Asked {
    const domain::AgentProfile* profile = nullptr;
    domain::SandboxSpec spec;
    std::optional<domain::Command> command;  // none: the sandbox is only provisioned
    bool wait = true;
};

Result<Asked> read(const nlohmann::json& arguments, const Options& options) {
    Arguments given(arguments);
    Asked asked;
    const auto* agent = given.field("agent");
    asked.profile = domain::find_agent(given.string("agent"));
    if (asked.profile == nullptr && agent != nullptr && agent->is_string())
        given.problem("agent", fmt::format("must be one of {}", fmt::join(agent_names(), ", ")));
    const auto tenant = given.tenant(options);
    const auto image = given.optional_string("image");
    const auto args = given.strings("args");
    const auto network = given.enumeration<domain::Network>("network", kNetworks, domain::Network::restricted_egress);
    const auto ttl = given.integer_or("ttl_seconds", domain::kLeastTtlSeconds, domain::kMostTtlSeconds, kTtl);
    const auto timeout = given.integer_or("command_timeout_seconds", 1, domain::kMostTimeoutSeconds, kCommandTimeout);
    auto env = given.string_map("env");
    asked.wait = given.boolean_or("wait", true);
    if (asked.profile != nullptr && !image && !asked.profile->default_image)
        given.problem("image", "is required: this agent has no image of its own");
    if (!asked.wait && !args.empty())
        given.problem("wait", "may only be false without args: an agent's command is always waited for");
    if (auto ended = given.end(); !ended) return fail(ended.error());

    asked.spec = domain::agent_spec(*asked.profile, image ? *image : *asked.profile->default_image, std::move(env));
    asked.spec.tenant = tenant;
    asked.spec.network = network;
    asked.spec.ttl_seconds = ttl;
    if (!args.empty()) asked.command = domain::agent_command(*asked.profile, args, timeout);
    return asked;
}

/// How to run the agent in the sandbox that it was given.
std::string next_step(const domain::Sandbox& sandbox, const domain::AgentProfile& profile) {
    return fmt::format(
        "Run the agent with sandbox_exec: sandbox_id \"{}\", argv [\"{}\", …], cwd \"/workspace\". Delete the sandbox "
        "with sandbox_delete when the work is done.",
        sandbox.id.text(), profile.executable);
}

Task<ToolResult> run(Bridge& bridge, Call& call, nlohmann::json arguments) {
    auto asked = read(arguments, bridge.options());
    if (!asked) co_return bad_arguments(asked.error());
    const auto max_output = bridge.options().max_output;
    const auto resources = asked->spec.resources;
    auto created = co_await create_sandbox(bridge, call, std::move(asked->spec), asked->wait);
    call.disown();
    if (!created) co_return co_await create_refused(bridge, std::move(created.error()), resources);

    auto result = account_of_create(*created, max_output, "create_operation");
    result.structure["agent_operation"] = nullptr;
    result.structure["agent_command"] = nullptr;
    if (asked->command) result.structure["agent_command"] = asked->command->argv;
    const bool runs = created->operation.state == domain::OperationState::succeeded;
    if (!asked->command || !runs) {
        if (!result.is_error) add_note(result, next_step(created->sandbox, *asked->profile));
        co_return result;
    }

    auto operation = co_await run_command(bridge, call, created->sandbox.id, std::move(*asked->command), true);
    if (!operation) {
        make_error(result, explain(operation.error(), "run the agent", Sought::sandbox));
        co_return result;
    }
    const auto ran = account(*operation, max_output, "agent_operation");
    result.structure.update(ran.structure);
    result.is_error = ran.is_error;
    result.text = fmt::format("{}\n\nThe sandbox stays until it is deleted or expires: {}", ran.text, result.text);
    co_return result;
}

Json input(const Options& options) {
    using namespace schema;
    auto agent = text("Which agent");
    agent["enum"] = agent_names();
    Properties others{
        {"agent", std::move(agent)},
        {"image", text("An OCI image in place of the agent's own")},
        {"args",
         texts("The agent's arguments, each a string of its own. Without them the sandbox is made, and the agent "
               "is yours to run with sandbox_exec")},
        {"network", network_schema("restricted")},
        {"ttl_seconds", number("Seconds until the sandbox is deleted by itself", domain::kLeastTtlSeconds,
                               domain::kMostTtlSeconds, kTtl)},
        {"command_timeout_seconds",
         number("The agent is killed after this time", 1, domain::kMostTimeoutSeconds, kCommandTimeout)},
        {"env",
         text_map("Environment variables of the sandbox, such as the agent's own credentials; only what the user "
                  "gave for this. Results never show their values")},
        {"wait", boolean("Wait until the sandbox runs and the agent has ended; false only without args", true)}};
    return with_tenant(options, std::move(others), 1, 1);
}

Json output() {
    using namespace schema;
    return schema::output(
        {{"sandbox", sandbox()},
         {"create_operation", operation("The sandbox's creation")},
         {"agent_operation", or_null("The agent's command, as in sandbox_exec's `operation`; null when none was run")},
         {"agent_command", or_null("The argv that was run; null without args")}});
}

}  // namespace

Tool agent_list_tool() {
    return {.name = "sandbox_agent_list",
            .title = "List coding agents",
            .description = "Lists the coding agents that can be run in a sandbox of their own. Needs no server.",
            .hints = {.read_only = true, .idempotent = true},
            .input = [](const Options&) { return schema::object({}, 0); },
            .output = [] { return schema::output({{"agents", schema::list("", schema::agent())}}); },
            .run = list};
}

Tool agent_run_tool() {
    return {.name = "sandbox_agent_run",
            .title = "Run a coding agent in a sandbox",
            .description =
                "Makes a sandbox for another coding agent and, with args, runs it there and returns its output. The "
                "sandbox stays for you to look at its work; delete it with sandbox_delete afterwards.",
            .hints = {.open_world = true},
            .input = input,
            .output = output,
            .run = run};
}

}  // namespace sandbox::mcp
