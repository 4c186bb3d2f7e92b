// The protocol: which method is answered how, in which revision.
#include "session.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include <fmt/format.h>

#include <sandbox/base/log.hpp>
#include <sandbox/base/version.hpp>

#include "arguments.hpp"
#include "completions.hpp"
#include "guidance.hpp"
#include "prompts.hpp"
#include "resources.hpp"
#include "running.hpp"
#include "tools.hpp"

namespace sandbox::mcp {
namespace {

/// How long a client may keep a list: it is the same as long as this program runs.
constexpr std::int64_t kListTtl = 3'600'000;

constexpr std::array<std::string_view, 8> kLogLevels{"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};

Json server_info() {
    return Json{{"name", kServerName}, {"title", "Sandbox"}, {"version", version()}};
}

Json capabilities(Revision revision) {
    Json all{{"tools", {{"listChanged", false}}},
             {"resources", {{"subscribe", false}, {"listChanged", false}}},
             {"prompts", {{"listChanged", false}}},
             {"completions", Json::object()}};
    if (revision != Revision::july_2026) all["logging"] = Json::object();
    return all;
}

const nlohmann::json* member(const nlohmann::json& object, std::string_view name) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

/// What the request says it speaks; nullptr when it says nothing.
const nlohmann::json* stated_version(const nlohmann::json& params) {
    const auto* meta = member(params, "_meta");
    return meta == nullptr ? nullptr : member(*meta, kVersionKey);
}

/// No list here is longer than a page, so no cursor was ever given out.
Reply whole_list(Json list, const nlohmann::json& params) {
    const auto* cursor = member(params, "cursor");
    if (cursor != nullptr && !cursor->is_null()) return rpc_error(kInvalidParams, "this cursor was never given out");
    return list;
}

Reply method_not_found(const std::string& method) {
    return rpc_error(kMethodNotFound, fmt::format("there is no method {}", method.substr(0, 100)));
}

bool is_cached(const std::string& method) {
    return method.ends_with("/list") || method == "resources/read" || method == "server/discover";
}

Json tool_result(const ToolResult& result) {
    return Json{{"content", Json::array({Json{{"type", "text"}, {"text", result.text}}})},
                {"structuredContent", result.structure},
                {"isError", result.is_error}};
}

Task<Reply> run_tool(const Tool& tool, Bridge& bridge, Call& call, nlohmann::json arguments) {
    const auto result = co_await tool.run(bridge, call, std::move(arguments));
    co_return tool_result(result);
}

}  // namespace

Session::Session(asio::any_io_executor executor, Bridge& bridge, Send send, CallLimits limits)
    : executor_(executor), bridge_(bridge), send_(std::move(send)), limits_(limits), tasks_(executor) {}

Session::~Session() = default;

void Session::handle(std::string_view line) {
    nlohmann::json id;
    try {
        const auto message = read_message(line);
        id = message.id;
        switch (message.kind) {
            case Message::Kind::request:
                return answer(message);
            case Message::Kind::notification:
                return notice(message);
            case Message::Kind::refused:
                return send_(error_line(id, message.error));
            case Message::Kind::ignored:
                return;
        }
    } catch (const std::exception& error) {
        log::error("a message could not be handled", {{"error", error.what()}});
        send_(
            error_line(id, {.code = kInternalError, .message = "the bridge met an error of its own", .data = nullptr}));
    }
}

void Session::refuse_long_line() {
    send_(error_line(nullptr, {.code = kInvalidRequest, .message = "a line may have at most 8 MiB", .data = nullptr}));
}

void Session::answer(const Message& request) {
    if (calls_.contains(request.id)) {
        send_(error_line(
            request.id,
            {.code = kInvalidRequest, .message = "a call with this id is still under way", .data = nullptr}));
        return;
    }
    if (!request.params.is_object()) {
        send_(error_line(request.id, {.code = kInvalidParams, .message = "params must be an object", .data = nullptr}));
        return;
    }
    const bool modern = stated_version(request.params) != nullptr;
    auto reply = modern ? since_2026(request) : before_2026(request);
    if (!reply) return;
    const auto revision = modern ? Revision::july_2026 : revision_.value_or(Revision::november_2025);
    send_reply(request.id, request.method, revision, std::move(*reply), true);
}

std::optional<Reply> Session::before_2026(const Message& request) {
    if (request.method == "ping") return Json::object();
    if (request.method == "initialize") return initialize(request.params);
    if (!revision_)
        return rpc_error(kInvalidParams,
                         fmt::format("send initialize first, or name the revision in _meta (\"{}\": \"{}\")",
                                     kVersionKey, kJuly2026));
    if (request.method == "logging/setLevel") return set_log_level(request.params);
    return common(request, *revision_);
}

std::optional<Reply> Session::since_2026(const Message& request) {
    const auto& version = *stated_version(request.params);
    if (!version.is_string()) return rpc_error(kInvalidParams, fmt::format("{} must be a string", kVersionKey));
    if (version != kJuly2026)
        return rpc_error(kUnsupportedVersion, "this version of the protocol is not served this way",
                         Json{{"supported", Json::array({kJuly2026})}, {"requested", version}});
    const auto* client = member(request.params["_meta"], kCapabilitiesKey);
    if (client == nullptr || !client->is_object())
        return rpc_error(kInvalidParams, fmt::format("_meta must hold an object {}", kCapabilitiesKey));
    if (request.method == "server/discover")
        return Json{{"supportedVersions", Json::array({kJuly2026})},
                    {"capabilities", capabilities(Revision::july_2026)},
                    {"instructions", instructions(bridge_.options())}};
    return common(request, Revision::july_2026);
}

Reply Session::initialize(const nlohmann::json& params) {
    const auto* version = member(params, "protocolVersion");
    if (version == nullptr || !version->is_string())
        return rpc_error(kInvalidParams, "protocolVersion must be a string");
    revision_ = *version == kJune2025 ? Revision::june_2025 : Revision::november_2025;
    return Json{{"protocolVersion", *revision_ == Revision::june_2025 ? kJune2025 : kNovember2025},
                {"capabilities", capabilities(*revision_)},
                {"serverInfo", server_info()},
                {"instructions", instructions(bridge_.options())}};
}

Reply Session::set_log_level(const nlohmann::json& params) {
    const auto* level = member(params, "level");
    const auto name = level != nullptr && level->is_string() ? level->get<std::string>() : std::string();
    if (std::ranges::find(kLogLevels, name) == kLogLevels.end())
        return rpc_error(kInvalidParams, fmt::format("level must be one of {}", fmt::join(kLogLevels, ", ")));
    log_level_ = name;
    return Json::object();
}

std::optional<Reply> Session::common(const Message& request, Revision revision) {
    const auto& method = request.method;
    const auto& params = request.params;
    const auto& options = bridge_.options();
    if (method == "tools/list") {
        if (!tools_) tools_ = list_of_tools(options);
        return whole_list(*tools_, params);
    }
    if (method == "tools/call") return call_tool(request, revision);
    if (method == "resources/list") return whole_list(list_of_resources(), params);
    if (method == "resources/templates/list") return whole_list(list_of_resource_templates(), params);
    if (method == "resources/read") return read_resource(request, revision);
    if (method == "prompts/list") return whole_list(list_of_prompts(options), params);
    if (method == "prompts/get") {
        const auto* name = member(params, "name");
        if (name == nullptr || !name->is_string()) return rpc_error(kInvalidParams, "name must be a string");
        const auto* arguments = member(params, "arguments");
        if (arguments != nullptr && !arguments->is_object() && !arguments->is_null())
            return rpc_error(kInvalidParams, "arguments must be an object");
        const bool given = arguments != nullptr && arguments->is_object();
        return get_prompt(name->get<std::string>(), given ? *arguments : nlohmann::json::object(), options);
    }
    if (method == "completion/complete") {
        auto work = [this, params](Call&) { return complete(bridge_, params); };
        return enqueue(request, revision, "completion", std::move(work));
    }
    return method_not_found(method);
}

std::optional<Reply> Session::call_tool(const Message& request, Revision revision) {
    const auto* name = member(request.params, "name");
    if (name == nullptr || !name->is_string()) return rpc_error(kInvalidParams, "name must be a string");
    const auto* given = member(request.params, "arguments");
    auto arguments = given == nullptr || given->is_null() ? nlohmann::json::object() : *given;
    if (!arguments.is_object()) return rpc_error(kInvalidParams, "arguments must be an object");
    const auto& wanted = name->get_ref<const std::string&>();
    const auto* tool = find_tool(wanted, bridge_.options());
    if (tool == nullptr)
        return rpc_error(kInvalidParams, bridge_.options().read_only && find_tool(wanted, {}) != nullptr
                                             ? fmt::format("{} is not offered: this bridge is read-only", wanted)
                                             : fmt::format("there is no tool {}", wanted.substr(0, 100)));
    make_integers(arguments);
    auto work = [this, tool, arguments = std::move(arguments)](Call& call) mutable {
        return run_tool(*tool, bridge_, call, std::move(arguments));
    };
    return enqueue(request, revision, std::string(tool->name), std::move(work));
}

std::optional<Reply> Session::read_resource(const Message& request, Revision revision) {
    const auto* given = member(request.params, "uri");
    if (given == nullptr || !given->is_string()) return rpc_error(kInvalidParams, "uri must be a string");
    auto uri = given->get<std::string>();
    if (auto known = read_static_resource(uri)) return std::move(*known);
    if (!is_server_resource(uri)) return std::unexpected(resource_not_found(uri));
    auto work = [this, uri = std::move(uri)](Call&) { return read_server_resource(bridge_, uri); };
    return enqueue(request, revision, "resources/read", std::move(work));
}

void Session::send_reply(const nlohmann::json& id, const std::string& method, Revision revision, Reply reply,
                         bool lasting) {
    const bool modern = revision == Revision::july_2026;
    if (!reply) {
        if (modern && reply.error().code == kResourceNotFound) reply.error().code = kInvalidParams;
        return send_(error_line(id, reply.error()));
    }
    if (modern) {
        auto& result = *reply;
        result["resultType"] = "complete";
        result["_meta"] = {{kServerInfoKey, server_info()}};
        if (is_cached(method)) {
            result["ttlMs"] = lasting ? kListTtl : 0;
            result["cacheScope"] = "private";
        }
    }
    send_(result_line(id, *reply));
}

void Session::notice(const Message& notification) {
    if (notification.method == "notifications/cancelled") cancel(notification.params);
}

void Session::cancel(const nlohmann::json& params) {
    const auto* id = member(params, "requestId");
    if (id == nullptr) return;
    const auto found = calls_.find(*id);
    if (found != calls_.end()) stop(found->second);
}

}  // namespace sandbox::mcp
