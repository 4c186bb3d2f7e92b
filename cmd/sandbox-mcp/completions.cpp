#include "completions.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <sandbox/domain/agents.hpp>

#include "prompts.hpp"
#include "resources.hpp"

namespace sandbox::mcp {
namespace {

using namespace std::chrono_literals;

/// The protocol's own limit.
constexpr std::size_t kMostValues = 100;
/// Somebody is typing.
constexpr auto kPatience = 2s;
constexpr std::int64_t kMostIds = 1000;

using Values = std::vector<std::string>;

Json completion(const Values& candidates, const std::string& begun) {
    auto values = Json::array();
    std::size_t total = 0;
    for (const auto& candidate : candidates) {
        if (!candidate.starts_with(begun)) continue;
        if (++total <= kMostValues) values.push_back(candidate);
    }
    return Json{{"completion", {{"values", std::move(values)}, {"total", total}, {"hasMore", total > kMostValues}}}};
}

Values of_prompt(const Bridge& bridge, const std::string& argument) {
    Values values;
    if (argument == "agent")
        for (const auto& profile : domain::agent_profiles()) values.push_back(profile.name);
    if (argument == "tenant") values.assign(bridge.tenants().begin(), bridge.tenants().end());
    if (argument == "network") values = {"deny", "restricted", "open"};
    return values;
}

Task<Values> sandbox_ids(Bridge& bridge) {
    client::ListQuery query{.tenant = bridge.options().tenant,
                            .states = {},
                            .limit = kMostIds,
                            .cursor = std::nullopt,
                            .sandbox_id = std::nullopt};
    Values values;
    auto answer = co_await bridge.client().sandboxes(std::move(query), in(kPatience));
    if (!answer) co_return values;
    for (const auto& sandbox : answer->sandboxes) {
        bridge.saw(sandbox);
        values.push_back(sandbox.id.text());
    }
    co_return values;
}

Task<Values> operation_ids(Bridge& bridge) {
    client::ListQuery query{
        .tenant = std::nullopt, .states = {}, .limit = kMostIds, .cursor = std::nullopt, .sandbox_id = std::nullopt};
    Values values;
    auto answer = co_await bridge.client().operations(std::move(query), in(kPatience));
    if (!answer) co_return values;
    for (const auto& operation : answer->operations) values.push_back(operation.id.text());
    co_return values;
}

std::string text_in(const nlohmann::json& object, const char* name) {
    if (!object.is_object()) return "";
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Task<Reply> complete(Bridge& bridge, nlohmann::json params) {
    const auto ref = params.value("ref", nlohmann::json());
    const auto argument = params.value("argument", nlohmann::json());
    const auto type = text_in(ref, "type");
    const auto name = text_in(argument, "name");
    if (name.empty() || !argument.contains("value") || !argument["value"].is_string())
        co_return rpc_error(kInvalidParams, "argument must have a name and a value");
    const auto begun = argument["value"].get<std::string>();

    if (type == "ref/prompt") {
        if (!has_prompt(text_in(ref, "name"))) co_return rpc_error(kInvalidParams, "there is no prompt of this name");
        co_return completion(of_prompt(bridge, name), begun);
    }
    if (type != "ref/resource") co_return rpc_error(kInvalidParams, "ref.type must be ref/prompt or ref/resource");
    const auto uri = text_in(ref, "uri");
    Values values;
    if (uri == kSandboxTemplate)
        values = co_await sandbox_ids(bridge);
    else if (uri == kOperationTemplate)
        values = co_await operation_ids(bridge);
    else
        co_return rpc_error(kInvalidParams, "there is no resource template of this address");
    co_return completion(name == "id" ? values : Values{}, begun);
}

}  // namespace sandbox::mcp
