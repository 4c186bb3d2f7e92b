#include "agent_run.hpp"

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <sandbox/domain/agents.hpp>

#include "../creation.hpp"
#include "../execution.hpp"
#include "../key_values.hpp"
#include "../operations.hpp"

namespace sandbox::cli {
namespace {

struct RunOptions {
    std::string name;
    std::optional<std::string> tenant;
    std::string image;
    std::int64_t ttl = 3600;
    std::string network = "restricted";
    std::vector<std::string> env;
    std::vector<std::string> env_files;
    bool no_wait = false;
    std::int64_t wait_timeout = 300;
    std::int64_t command_timeout = 900;
};

/// What a run asks for, once its options are read.
struct AgentRun {
    domain::SandboxSpec spec;                // its tenant is filled in when it runs
    std::optional<domain::Command> command;  // none: the sandbox is only provisioned
    std::string executable;
    std::optional<std::string> tenant;
    bool no_wait = false;
    std::chrono::seconds wait_timeout{300};
};

const domain::AgentProfile& profile_of(const std::string& name) {
    if (const auto* profile = domain::find_agent(name)) return *profile;
    std::vector<std::string> names;
    for (const auto& profile : domain::agent_profiles()) names.push_back(profile.name);
    throw CLI::ValidationError(
        fmt::format("there is no agent {}; there are {}", printable_line(name), fmt::join(names, ", ")));
}

domain::SandboxSpec spec_of(const RunOptions& options, const domain::AgentProfile& profile) {
    if (options.image.empty() && !profile.default_image)
        throw CLI::ValidationError(profile.display_name + " has no default image: give --image");
    auto spec = domain::agent_spec(profile, options.image.empty() ? *profile.default_image : options.image,
                                   value_or_refuse(read_environment(options.env, options.env_files)));
    spec.network = options.network.starts_with("open")         ? domain::Network::open_egress
                   : options.network.starts_with("restricted") ? domain::Network::restricted_egress
                                                               : domain::Network::deny;
    spec.ttl_seconds = options.ttl;
    return spec;
}

AgentRun run_of(const RunOptions& options, const std::optional<Argv>& argv) {
    const auto& profile = profile_of(options.name);
    AgentRun run{.spec = spec_of(options, profile),
                 .command = std::nullopt,
                 .executable = profile.executable,
                 .tenant = options.tenant,
                 .no_wait = options.no_wait,
                 .wait_timeout = std::chrono::seconds(options.wait_timeout)};
    if (!argv || argv->empty()) return run;
    if (options.no_wait)
        throw CLI::ValidationError("--no-wait provisions the sandbox only: leave out the agent's arguments, or wait");
    run.command = domain::agent_command(profile, value_or_refuse(checked_argv(*argv)), options.command_timeout);
    return run;
}

std::string next_line(const domain::Sandbox& sandbox, const std::string& executable) {
    return fmt::format("sandbox exec {} --cwd /workspace -- {}", sandbox.id.text(), executable);
}

/// The sandbox alone: asked for, or running. `waited` decides which shape --json has.
Outcome show_provisioned(Session& session, const api::SandboxAndOperation& created, const AgentRun& run,
                         std::optional<client::Failure> failed) {
    auto& output = session.output();
    if (output.json()) {
        nlohmann::json document{{"sandbox", created.sandbox}, {"operation", created.operation}};
        if (!run.no_wait) document["agent_command"] = nullptr;
        output.document(document);
    } else if (!failed) {
        if (!output.quiet()) {
            output.out(summary(created.sandbox, session.now()) + "\n");
            output.out(fmt::format("run the agent in it with: {}\n", next_line(created.sandbox, run.executable)));
        }
        output.out(created.sandbox.id.text() + "\n");
    }
    if (failed) return std::unexpected(std::move(*failed));
    return kDone;
}

void document_run(Output& output, const api::SandboxAndOperation& created, const domain::Operation* agent_operation) {
    nlohmann::json document{
        {"sandbox", created.sandbox}, {"create_operation", created.operation}, {"agent_operation", nullptr}};
    if (agent_operation != nullptr) document["agent_operation"] = *agent_operation;
    output.document(document);
}

Task<Outcome> run_in(Session& session, client::Client& client, api::SandboxAndOperation created,
                     domain::Command command) {
    auto& output = session.output();
    output.note(fmt::format("sandbox {} runs; it stays until it is deleted or expires", created.sandbox.id.text()));
    auto operation = co_await request_exec(session, client, created.sandbox.id, command);
    if (!operation) co_return pass_on(operation);
    auto ended = co_await wait_for_exec(session, client, std::move(*operation), command.timeout_seconds);
    if (!ended) co_return pass_on(ended);
    if (!output.json()) co_return show_result(output, *ended);
    document_run(output, created, &*ended);
    const auto status = exit_status(*ended);
    if (!status) co_return operation_failed(*ended);
    co_return *status;
}

Task<Outcome> run_agent(Session& session, AgentRun run) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    run.spec.tenant = chosen_tenant(session, run.tenant);
    auto created = co_await request_sandbox(session, **client, run.spec);
    if (!created) co_return pass_on(created);
    if (run.no_wait) co_return show_provisioned(session, *created, run, std::nullopt);

    auto ended = co_await wait_until_created(session, **client, std::move(*created), run.wait_timeout);
    if (!ended) co_return pass_on(ended);
    auto failed = create_failure(*ended, run.wait_timeout);
    if (!run.command) co_return show_provisioned(session, *ended, run, std::move(failed));
    if (!failed) co_return co_await run_in(session, **client, std::move(*ended), std::move(*run.command));
    if (session.output().json()) document_run(session.output(), *ended, nullptr);
    co_return std::unexpected(std::move(*failed));
}

}  // namespace

void add_agent_run(CommandLine& line, CLI::App& agent) {
    auto options = std::make_shared<RunOptions>();
    auto& command = line.add(agent, "run", "Make a sandbox for an agent and, with arguments, run it there",
                             {"sandbox agent run claude --env-file provider.env -- -p 'Fix the failing test'",
                              "sandbox agent run codex --env OPENAI_API_KEY=... -- exec 'Explain this repository'",
                              "sandbox agent run aider"});
    command.add_option("NAME", options->name, "An agent's name, as `sandbox agent list` shows it")
        ->type_name("")
        ->required();
    command.add_option("--tenant", options->tenant, "Whose it is (SANDBOX_TENANT, else default)")->type_name("TENANT");
    command.add_option("--image", options->image, "An OCI image reference in place of the agent's own")
        ->type_name("IMAGE");
    command.add_option("--ttl", options->ttl, "Seconds until the sandbox is deleted")
        ->type_name("S")
        ->capture_default_str();
    command.add_option("--network", options->network, "What it may reach")
        ->type_name("deny|restricted|open")
        ->check(CLI::IsMember({"deny", "restricted", "open", "restricted_egress", "open_egress"}).description(""))
        ->capture_default_str();
    add_repeated(command, "--env", options->env, "An environment variable of the sandbox; may be repeated", "K=V");
    add_repeated(command, "--env-file", options->env_files,
                 "A file of K=V lines, for provider credentials; may be repeated", "FILE");
    command.add_flag("--no-wait", options->no_wait,
                     "Return as soon as the server has taken the request; without arguments only");
    command.add_option("--wait-timeout", options->wait_timeout, "Seconds to wait until the sandbox runs")
        ->type_name("S")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{604800}).description(""))
        ->capture_default_str();
    command.add_option("--command-timeout", options->command_timeout, "Seconds until the agent is killed")
        ->type_name("S")
        ->capture_default_str();
    line.takes_argv(command, ArgvStart::after_first_word, "[-- ARGS...]");
    line.on_chosen(command, [&line, options]() -> Action {
        auto run = run_of(*options, line.argv());
        return [run = std::move(run)](Session& session) { return run_agent(session, run); };
    });
}

}  // namespace sandbox::cli
