// The tools that look at sandboxes, keep them longer and delete them.
#include <fmt/format.h>

#include <sandbox/base/time.hpp>

#include "../arguments.hpp"
#include "../schema.hpp"
#include "../steps.hpp"
#include "../tools.hpp"
#include "spec.hpp"

namespace sandbox::mcp {
namespace {

/// More of them would fill a model's whole view.
constexpr std::int64_t kMostListed = 100;

Json sandbox_output() {
    return schema::output({{"sandbox", schema::sandbox()}});
}

Task<ToolResult> health(Bridge& bridge, Call& /*call*/, nlohmann::json arguments) {
    Arguments given(arguments);
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    auto answer = co_await bridge.client().health(in(kRequestTime));
    if (!answer) co_return failed(answer.error(), "ask for the server's health", Sought::nothing);
    ToolResult result;
    result.structure["health"] = *answer;
    result.text = fmt::format("The server is {} (version {}, store {}). Public tunnels are {}.", answer->status,
                              answer->version, answer->store, answer->tunnels.enabled ? "on" : "off");
    co_return result;
}

Task<ToolResult> list(Bridge& bridge, Call& /*call*/, nlohmann::json arguments) {
    Arguments given(arguments);
    const auto tenant = given.tenant(bridge.options());
    const bool include_ended = given.boolean_or("include_ended", false);
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    client::ListQuery query{
        .tenant = tenant, .states = {}, .limit = kMostListed, .cursor = std::nullopt, .sandbox_id = std::nullopt};
    if (!include_ended) query.states = {"scheduled", "creating", "running", "stopping"};
    auto answer = co_await bridge.client().sandboxes(std::move(query), in(kRequestTime));
    if (!answer) co_return failed(answer.error(), "list the sandboxes", Sought::nothing);

    ToolResult result;
    auto& sandboxes = result.structure["sandboxes"] = nlohmann::json::array();
    std::string lines;
    for (const auto& sandbox : answer->sandboxes) {
        // A server of an older version knows neither states nor limits.
        if (!include_ended && !domain::is_live(sandbox.state)) continue;
        bridge.saw(sandbox);
        sandboxes.push_back(shown(sandbox));
        lines += "\n" + describe(sandbox) + ".";
    }
    const auto which = include_ended ? "" : " that has not ended";
    result.text = sandboxes.empty() ? fmt::format("Tenant {} has no sandbox{}.", tenant, which)
                                    : fmt::format("{} of tenant {}, newest first:{}", sandboxes.size(), tenant, lines);
    if (answer->next_cursor)
        add_note(result, fmt::format("There are more; these are the newest {}.", sandboxes.size()));
    co_return result;
}

Task<ToolResult> inspect(Bridge& bridge, Call& /*call*/, nlohmann::json arguments) {
    Arguments given(arguments);
    const auto id = given.id<domain::SandboxId>("sandbox_id");
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    auto sandbox = co_await bridge.client().sandbox(id, in(kRequestTime));
    if (!sandbox) co_return failed(sandbox.error(), "inspect the sandbox", Sought::sandbox);
    bridge.saw(*sandbox);
    ToolResult result;
    result.structure["sandbox"] = shown(*sandbox);
    const auto& resources = sandbox->spec.resources;
    result.text = fmt::format("{}.\n{} millicores, {} MiB memory, {} MiB disk, {} processes; created {}",
                              describe(*sandbox), resources.cpu_millis, resources.memory_mib, resources.disk_mib,
                              resources.pids, format_time(sandbox->created_at));
    for (const auto& [name, value] : sandbox->spec.env) result.text += fmt::format("\nenv {} (hidden)", name);
    for (const auto& [name, value] : sandbox->spec.labels) result.text += fmt::format("\nlabel {}={}", name, value);
    for (const auto& tunnel : sandbox->tunnels)
        result.text += fmt::format("\ntunnel {} to port {}: {} ({})", tunnel.id.text(), tunnel.container_port,
                                   tunnel.public_url, domain::to_text(tunnel.state));
    if (const auto& startup = sandbox->startup) {
        result.text += startup->running ? "\nIts start-up command runs."
                                        : fmt::format("\nIts start-up command has ended with status {}.",
                                                      startup->exit_code.value_or(0));
        if (!startup->tail.empty()) result.text += "\n" + startup->tail;
    }
    co_return result;
}

Task<ToolResult> extend(Bridge& bridge, Call& /*call*/, nlohmann::json arguments) {
    Arguments given(arguments);
    const auto id = given.id<domain::SandboxId>("sandbox_id");
    const auto ttl = given.integer("ttl_seconds", domain::kLeastTtlSeconds, domain::kMostTtlSeconds);
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    auto sandbox = co_await bridge.client().extend(id, ttl, in(kRequestTime));
    if (!sandbox) co_return failed(sandbox.error(), "extend the sandbox", Sought::sandbox);
    ToolResult result;
    result.structure["sandbox"] = shown(*sandbox);
    result.text = describe(*sandbox) + ".";
    co_return result;
}

Json extend_input(const Options& /*options*/) {
    return schema::object({{"sandbox_id", schema::id("The sandbox's id")},
                           {"ttl_seconds", schema::number("Seconds from now that it should live at least",
                                                          domain::kLeastTtlSeconds, domain::kMostTtlSeconds)}},
                          2);
}

Task<ToolResult> destroy(Bridge& bridge, Call& call, nlohmann::json arguments) {
    Arguments given(arguments);
    const auto id = given.id<domain::SandboxId>("sandbox_id");
    const bool wait = given.boolean_or("wait", true);
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    auto operation = co_await bridge.client().destroy(id, 0, in(kRequestTime));
    if (!operation) co_return failed(operation.error(), "delete the sandbox", Sought::sandbox);
    if (wait) {
        const auto started = *operation;
        operation = co_await wait_for(bridge, call, std::move(*operation), kLifecycleTime, "deleting the sandbox");
        if (!operation) co_return account(started, bridge.options().max_output);
    }
    co_return account(*operation, bridge.options().max_output);
}

Json delete_input(const Options& /*options*/) {
    return schema::object(
        {{"sandbox_id", schema::id("The sandbox's id")}, {"wait", schema::boolean("Wait until it is gone", true)}}, 1);
}

Json list_input(const Options& options) {
    return with_tenant(options, {{"include_ended", schema::boolean("Also those that have stopped or failed", false)}},
                       0);
}

}  // namespace

Tool health_tool() {
    return {.name = "sandbox_health",
            .title = "Check the Sandbox server",
            .description = "Says whether the Sandbox server answers, its version and whether public tunnels are on.",
            .hints = {.read_only = true, .idempotent = true},
            .input = [](const Options&) { return schema::object({}, 0); },
            .output = [] { return schema::output({{"health", schema::health()}}); },
            .run = health};
}

Tool list_tool() {
    return {.name = "sandbox_list",
            .title = "List sandboxes",
            .description = "Lists a tenant's sandboxes with their ids and states, newest first, at most 100.",
            .hints = {.read_only = true, .idempotent = true},
            .input = list_input,
            .output = [] { return schema::output({{"sandboxes", schema::list("Newest first", schema::sandbox())}}); },
            .run = list};
}

Tool inspect_tool() {
    return {.name = "sandbox_inspect",
            .title = "Inspect a sandbox",
            .description = "Shows one sandbox: its state, limits, expiry, tunnels and start-up command.",
            .hints = {.read_only = true, .idempotent = true},
            .input = [](const Options&) { return schema::object({{"sandbox_id", schema::id("The sandbox's id")}}, 1); },
            .output = sandbox_output,
            .run = inspect};
}

Tool extend_tool() {
    return {.name = "sandbox_extend",
            .title = "Keep a sandbox longer",
            .description = "Moves a sandbox's expiry to at least ttl_seconds from now; it never becomes shorter.",
            .hints = {.idempotent = true},
            .input = extend_input,
            .output = sandbox_output,
            .run = extend};
}

Tool delete_tool() {
    return {
        .name = "sandbox_delete",
        .title = "Delete a sandbox",
        .description =
            "Deletes a sandbox with all that is in it and kills what still runs there. Do it when the work is done; "
            "deleting it again changes nothing.",
        .hints = {.destructive = true, .idempotent = true},
        .input = delete_input,
        .output = [] { return schema::output({{"operation", schema::operation()}}); },
        .run = destroy};
}

}  // namespace sandbox::mcp
