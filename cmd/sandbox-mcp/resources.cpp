#include "resources.hpp"

#include <algorithm>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/version.hpp>
#include <sandbox/domain/agents.hpp>

#include "guidance.hpp"
#include "results.hpp"
#include "revision.hpp"
#include "steps.hpp"

namespace sandbox::mcp {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kSandboxes = "sandbox://sandboxes/";
constexpr std::string_view kOperations = "sandbox://operations/";

Json contents(const std::string& uri, std::string_view type, std::string_view text) {
    return Json{{"contents", Json::array({Json{{"uri", uri}, {"mimeType", type}, {"text", text}}})}};
}

/// What this build can do and can't; every line of it is true of this build.
Json capabilities() {
    Json versions = Json::array();
    for (const auto version : kAllVersions) versions.push_back(version);
    return Json{{"server", {{"name", kServerName}, {"version", version()}}},
                {"mcp_protocol", std::move(versions)},
                {"runtime",
                 "by worker: containers of OCI images through the Docker Engine API, or an operator's own driver "
                 "program, which "
                 "may offer micro-VMs"},
                {"isolation_preferences", {"auto", "container", "microvm"}},
                {"network_modes", {"deny", "restricted", "open"}},
                {"features",
                 {"create", "exec", "exec_stdin", "exec_cancel", "wait", "output_paging", "list", "inspect", "extend",
                  "delete", "agents", "progress", "cancellation", "completions"}},
                {"public_tunnels",
                 {{"protocols", Json::array()},
                  {"domain_and_tls", nullptr},
                  {"url_scheme", nullptr},
                  {"client_must_use_returned_url", true},
                  {"authentication", nullptr}}},
                {"not_implemented",
                 {"public tunnels", "tunnels of raw TCP", "authentication in front of a tunnel",
                  "a micro-VM driver that comes with it", "privileged sandboxes", "host mounts"}}};
}

Json agents() {
    auto list = Json::array();
    for (const auto& profile : domain::agent_profiles()) list.push_back(nlohmann::json(profile));
    return Json{{"agents", std::move(list)}};
}

Task<Reply> read_sandbox(Bridge& bridge, std::string uri, domain::SandboxId id) {
    auto sandbox = co_await bridge.client().sandbox(id, in(kRequestTime));
    if (!sandbox && is_missing(sandbox.error())) co_return std::unexpected(resource_not_found(uri));
    if (!sandbox) co_return rpc_error(kInternalError, explain(sandbox.error(), "read the sandbox", Sought::sandbox));
    bridge.saw(*sandbox);
    co_return contents(uri, kJsonType, dump_json_pretty(shown(*sandbox)));
}

Task<Reply> read_operation(Bridge& bridge, std::string uri, domain::OperationId id) {
    auto operation = co_await bridge.client().operation(id, 0, in(kRequestTime));
    if (!operation && is_missing(operation.error())) co_return std::unexpected(resource_not_found(uri));
    if (!operation)
        co_return rpc_error(kInternalError, explain(operation.error(), "read the operation", Sought::operation));
    co_return contents(uri, kJsonType, dump_json_pretty(shown(*operation, bridge.options().max_output)));
}

}  // namespace

Json list_of_resources() {
    return Json{{"resources",
                 Json::array({Json{{"uri", "sandbox://capabilities"},
                                   {"name", "capabilities"},
                                   {"title", "What this Sandbox can do"},
                                   {"description", "Isolation, networks and features of this build, and what it lacks"},
                                   {"mimeType", kJsonType}},
                              Json{{"uri", "sandbox://agents"},
                                   {"name", "agents"},
                                   {"title", "Coding agents"},
                                   {"description", "The agents that sandbox_agent_run knows, with their images"},
                                   {"mimeType", kJsonType}},
                              Json{{"uri", "sandbox://workflow"},
                                   {"name", "workflow"},
                                   {"title", "How to work with a sandbox"},
                                   {"description",
                                    "The safe course from creating to deleting, and what to do when "
                                    "something is refused"},
                                   {"mimeType", "text/markdown"}}})}};
}

Json list_of_resource_templates() {
    return Json{{"resourceTemplates", Json::array({Json{{"uriTemplate", kSandboxTemplate},
                                                        {"name", "sandbox"},
                                                        {"title", "A sandbox"},
                                                        {"description", "One sandbox as the server has it"},
                                                        {"mimeType", kJsonType}},
                                                   Json{{"uriTemplate", kOperationTemplate},
                                                        {"name", "operation"},
                                                        {"title", "An operation"},
                                                        {"description", "One operation with what it left"},
                                                        {"mimeType", kJsonType}}})}};
}

std::optional<Json> read_static_resource(const std::string& uri) {
    if (uri == "sandbox://capabilities") return contents(uri, kJsonType, capabilities().dump(2));
    if (uri == "sandbox://agents") return contents(uri, kJsonType, agents().dump(2));
    if (uri == "sandbox://workflow") return contents(uri, "text/markdown", workflow());
    return std::nullopt;
}

bool is_server_resource(const std::string& uri) {
    if (uri.starts_with(kSandboxes)) return domain::SandboxId::parse(uri.substr(kSandboxes.size())).has_value();
    return uri.starts_with(kOperations) && domain::OperationId::parse(uri.substr(kOperations.size())).has_value();
}

Task<Reply> read_server_resource(Bridge& bridge, std::string uri) {
    if (uri.starts_with(kSandboxes)) {
        const auto id = domain::SandboxId::parse(uri.substr(kSandboxes.size()));
        co_return co_await read_sandbox(bridge, std::move(uri), *id);
    }
    const auto id = domain::OperationId::parse(uri.substr(kOperations.size()));
    co_return co_await read_operation(bridge, std::move(uri), *id);
}

RpcError resource_not_found(const std::string& uri) {
    return {.code = kResourceNotFound, .message = "there is no such resource", .data = Json{{"uri", uri}}};
}

}  // namespace sandbox::mcp
