#include <fmt/format.h>

#include "../arguments.hpp"
#include "../schema.hpp"
#include "../steps.hpp"
#include "../tools.hpp"
#include "spec.hpp"

namespace sandbox::mcp {
namespace {

struct Asked {
    domain::SandboxSpec spec;
    bool wait = true;
};

domain::Exposure read_exposure(const ObjectReader::Element& element, Problems& problems) {
    ObjectReader given(element.value, element.path, problems, UnknownFields::refuse);
    domain::Exposure exposure;
    exposure.container_port = given.integer("container_port", 1, 65535);
    exposure.subdomain = given.optional_string("subdomain");
    given.finish();
    return exposure;
}

Result<Asked> read(const nlohmann::json& arguments, const Options& options) {
    Arguments given(arguments);
    Asked asked;
    auto& spec = asked.spec;
    spec.tenant = given.tenant(options);
    spec.image = given.string("image");
    spec.command = given.strings("command");
    spec.env = given.string_map("env");
    constexpr auto kMost = domain::kMostOfAResource;
    spec.resources = {.cpu_millis = given.integer_or("cpu_millis", 1, kMost, kCpuMillis),
                      .memory_mib = given.integer_or("memory_mib", kLeastMib, kMost, kMemoryMib),
                      .disk_mib = given.integer_or("disk_mib", kLeastMib, kMost, kDiskMib),
                      .pids = given.integer_or("pids", 1, kMost, kPids)};
    spec.ttl_seconds = given.integer_or("ttl_seconds", domain::kLeastTtlSeconds, domain::kMostTtlSeconds, kTtl);
    spec.network = given.enumeration<domain::Network>("network", kNetworks, domain::Network::deny);
    spec.isolation = given.enumeration<domain::IsolationPreference>("isolation", domain::kIsolationPreferenceNames,
                                                                    domain::IsolationPreference::automatic);
    spec.sensitivity =
        given.enumeration<domain::Sensitivity>("sensitivity", domain::kSensitivityNames, domain::Sensitivity::internal);
    spec.signals.untrusted_repository = given.boolean_or("untrusted_repo", false);
    spec.signals.executes_generated_code = given.boolean_or("generated_code", false);
    spec.signals.needs_secrets = given.boolean_or("needs_secrets", false);
    spec.labels = given.string_map("labels");
    spec.placement.required_labels = given.string_map("required_labels");
    spec.placement.preferred_region = given.optional_string("preferred_region");
    spec.placement.anti_affinity_keys = given.strings("anti_affinity_keys");
    for (const auto& element : given.array("exposures"))
        spec.exposures.push_back(read_exposure(element, given.problems()));
    asked.wait = given.boolean_or("wait", true);
    if (auto ended = given.end(); !ended) return fail(ended.error());
    return asked;
}

Task<ToolResult> run(Bridge& bridge, Call& call, nlohmann::json arguments) {
    auto asked = read(arguments, bridge.options());
    if (!asked) co_return bad_arguments(asked.error());
    const auto resources = asked->spec.resources;
    auto created = co_await create_sandbox(bridge, call, std::move(asked->spec), asked->wait);
    call.disown();
    if (!created) co_return co_await create_refused(bridge, std::move(created.error()), resources);
    co_return account_of_create(*created, bridge.options().max_output, "operation");
}

Json input(const Options& options) {
    using namespace schema;
    auto exposure = object({{"container_port", number("The port that the program listens on", 1, 65535)},
                            {"subdomain", text("A name for its address; without one it gets a generated name")}},
                           1);
    Properties all{
        {"image", text("An OCI image reference, such as python:3.12-slim. Images tagged :local are not pulled")},
        {"command", texts("A start-up program with its arguments, run beside your commands; mostly not needed")},
        {"env", text_map("Environment variables of everything in the sandbox. Results never show their values")},
        {"cpu_millis", number("Thousandths of a core", 1, domain::kMostOfAResource, kCpuMillis)},
        {"memory_mib", number("Memory limit, MiB", kLeastMib, domain::kMostOfAResource, kMemoryMib)},
        {"disk_mib", number("Disk limit, MiB", kLeastMib, domain::kMostOfAResource, kDiskMib)},
        {"pids", number("Limit of processes", 1, domain::kMostOfAResource, kPids)},
        {"ttl_seconds",
         number("Seconds until it is deleted by itself", domain::kLeastTtlSeconds, domain::kMostTtlSeconds, kTtl)},
        {"network", network_schema("deny")},
        {"isolation",
         one_of("A preference; risk may demand more, never less", {"auto", "container", "microvm"}, "auto")},
        {"sensitivity", one_of("How sensitive the data is that goes in",
                               {"public", "internal", "confidential", "restricted"}, "internal")},
        {"untrusted_repo", boolean("Code from a repository that nobody has vouched for will run", false)},
        {"generated_code", boolean("Code that a model wrote will run", false)},
        {"needs_secrets", boolean("Credentials will be put in", false)},
        {"labels", text_map("Labels of the sandbox, for the user's own bookkeeping")},
        {"required_labels", text_map("Labels that the host must have")},
        {"preferred_region", text("A region of hosts to prefer")},
        {"anti_affinity_keys", texts("Labels whose equals are kept on different hosts")},
        {"exposures",
         list("Ports to publish on the internet. Not available in this version: leave it out", std::move(exposure))},
        {"wait", boolean("Wait until it runs; false answers at once with an operation to wait for", true)}};
    return with_tenant(options, std::move(all), 1);
}

}  // namespace

Tool create_tool() {
    return {
        .name = "sandbox_create",
        .title = "Create a sandbox",
        .description =
            "Makes a disposable, isolated machine from an OCI image, and waits until it runs. Say honestly what will "
            "run in it (untrusted_repo, generated_code, needs_secrets, sensitivity): isolation and host are chosen by "
            "that. Use its id with sandbox_exec; delete it with sandbox_delete when the work is done.",
        .hints = {.open_world = true},
        .input = input,
        .output = [] { return schema::output({{"sandbox", schema::sandbox()}, {"operation", schema::operation()}}); },
        .run = run};
}

}  // namespace sandbox::mcp
