#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/text.hpp>

#include "../creation.hpp"
#include "../key_values.hpp"
#include "../operations.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

struct CreateOptions {
    std::optional<std::string> tenant;
    domain::SandboxSpec spec;
    std::string network = "deny";
    std::string isolation = "auto";
    std::string sensitivity = "internal";
    std::vector<std::string> labels;
    std::vector<std::string> env;
    std::vector<std::string> env_files;
    std::vector<std::string> required_labels;
    std::string region;
    std::vector<std::string> exposures;
    bool no_wait = false;
    std::int64_t wait_timeout = 300;
};

template <class E, std::size_t N>
E value_of(const domain::Names<E, N>& names, std::string_view text) {
    for (const auto& [name, value] : names)
        if (name == text) return value;
    return E{};
}

void show_created(Output& output, const domain::Sandbox& sandbox, Timestamp now) {
    if (!output.quiet()) {
        output.out(summary(sandbox, now) + "\n");
        for (const auto& tunnel : sandbox.tunnels) output.out(printable_line(tunnel.public_url) + "\n");
    }
    output.out(sandbox.id.text() + "\n");
}

Task<Outcome> create(Session& session, domain::SandboxSpec spec, bool no_wait, std::chrono::seconds limit) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto created = co_await request_sandbox(session, **client, spec);
    if (!created) co_return pass_on(created);
    if (!no_wait) {
        auto ended = co_await wait_until_created(session, **client, std::move(*created), limit);
        if (!ended) co_return pass_on(ended);
        created = std::move(ended);
    }
    auto& output = session.output();
    auto failed = no_wait ? std::nullopt : create_failure(*created, limit);
    if (output.json())
        output.document(*created);
    else if (!failed)
        show_created(output, created->sandbox, session.now());
    if (failed) co_return std::unexpected(std::move(*failed));
    co_return kDone;
}

void add_risk_options(CLI::App& command, CreateOptions& options) {
    command.add_option("--network", options.network, "What it may reach")
        ->type_name("deny|restricted|open")
        ->check(CLI::IsMember({"deny", "restricted", "open", "restricted_egress", "open_egress"}).description(""))
        ->capture_default_str();
    command.add_option("--isolation", options.isolation, "How it is kept apart; the server may choose the stronger")
        ->type_name("auto|container|microvm")
        ->check(CLI::IsMember({"auto", "container", "microvm"}).description(""))
        ->capture_default_str();
    command.add_option("--sensitivity", options.sensitivity, "Of the data inside")
        ->type_name("public|internal|confidential|restricted")
        ->check(CLI::IsMember({"public", "internal", "confidential", "restricted"}).description(""))
        ->capture_default_str();
    auto& signals = options.spec.signals;
    command.add_flag("--untrusted-repo", signals.untrusted_repository,
                     "It works on a repository that nobody vouches for");
    command.add_flag("--generated-code", signals.executes_generated_code, "It runs code that a model wrote");
    command.add_flag("--needs-secrets", signals.needs_secrets, "It is given secrets");
}

void add_options(CLI::App& command, CreateOptions& options) {
    command.add_option("--tenant", options.tenant, "Whose it is (SANDBOX_TENANT, else default)")->type_name("TENANT");
    command.add_option("--image", options.spec.image, "An OCI image reference")->type_name("IMAGE")->required();
    auto& resources = options.spec.resources;
    command.add_option("--cpu-millis", resources.cpu_millis, "Thousandths of a core")
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--memory-mib", resources.memory_mib, "Memory in MiB")->type_name("N")->capture_default_str();
    command.add_option("--disk-mib", resources.disk_mib, "Size of /workspace in MiB")
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--pids", resources.pids, "Processes at once")->type_name("N")->capture_default_str();
    command.add_option("--ttl", options.spec.ttl_seconds, "Seconds until it is deleted")
        ->type_name("S")
        ->capture_default_str();
    add_risk_options(command, options);
    add_repeated(command, "--label", options.labels, "A label; may be repeated", "K=V");
    add_repeated(command, "--env", options.env, "An environment variable; may be repeated", "K=V");
    add_repeated(command, "--env-file", options.env_files, "A file of K=V lines; may be repeated", "FILE");
    add_repeated(command, "--require-label", options.required_labels, "Only on nodes with this label; may be repeated",
                 "K=V");
    command.add_option("--region", options.region, "Rather on nodes of this region")->type_name("R");
    add_repeated(command, "--expose", options.exposures, "Publish a port on a hostname; may be repeated",
                 "PORT[=SUBDOMAIN]");
    command.add_flag("--no-wait", options.no_wait, "Return as soon as the server has taken the request");
    command.add_option("--wait-timeout", options.wait_timeout, "Seconds to wait until it runs")
        ->type_name("S")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{604800}).description(""))
        ->capture_default_str();
}

domain::SandboxSpec spec_of(const CreateOptions& options, const std::optional<Argv>& argv) {
    auto spec = options.spec;
    const std::string network =
        options.network == "restricted" || options.network == "open" ? options.network + "_egress" : options.network;
    spec.network = value_of(domain::kNetworkNames, network);
    spec.isolation = value_of(domain::kIsolationPreferenceNames, options.isolation);
    spec.sensitivity = value_of(domain::kSensitivityNames, options.sensitivity);
    spec.labels = value_or_refuse(read_key_values("--label", options.labels));
    spec.env = value_or_refuse(read_environment(options.env, options.env_files));
    spec.placement.required_labels = value_or_refuse(read_key_values("--require-label", options.required_labels));
    if (!options.region.empty()) spec.placement.preferred_region = options.region;
    for (const auto& exposure : options.exposures) spec.exposures.push_back(value_or_refuse(read_exposure(exposure)));
    if (argv) spec.command = value_or_refuse(checked_argv(*argv));
    return spec;
}

}  // namespace

void add_create(CommandLine& line) {
    auto options = std::make_shared<CreateOptions>();
    auto& command = line.add(line.root(), "create", "Create a sandbox and wait until it runs",
                             {"sandbox create --image sandbox-base-busybox:local",
                              "sandbox create --image sandbox-base-debian:local --memory-mib 2048 --ttl 7200 --quiet",
                              "sandbox create --image sandbox-base-debian:local --network restricted --untrusted-repo",
                              "sandbox create --image sandbox-base-debian:local -- python3 -m http.server 8000"});
    add_options(command, *options);
    line.takes_argv(command, ArgvStart::after_dashes, "[-- COMMAND...]");
    line.on_chosen(command, [&line, options]() -> Action {
        auto spec = spec_of(*options, line.argv());
        return [spec = std::move(spec), options](Session& session) -> Task<Outcome> {
            auto asked = spec;
            asked.tenant = chosen_tenant(session, options->tenant);
            return create(session, std::move(asked), options->no_wait, std::chrono::seconds(options->wait_timeout));
        };
    });
}

}  // namespace sandbox::cli
