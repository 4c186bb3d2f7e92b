// Each client's own way to be told of a bridge. The token stands in none of them: what stands there is how that client
// takes a variable from its own environment, or asks for it.
#include "mcp_clients.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <sandbox/base/json_reader.hpp>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Clients give up a call after a minute or less unless told otherwise; an agent's run may take 900 s by default.
constexpr int kCallSeconds = 960;

Json environment(const Bridge& bridge, std::string_view token) {
    auto variables = Json::object();
    variables["SANDBOX_URL"] = bridge.server;
    if (!token.empty()) variables["SANDBOX_TOKEN"] = token;
    if (bridge.ca_file) variables["SANDBOX_CA_FILE"] = *bridge.ca_file;
    return variables;
}

/// The server "sandbox", where a client keeps its servers.
Json under(std::string_view key, Json server) {
    return {{key, {{"sandbox", std::move(server)}}}};
}

Json claude(const Bridge& bridge) {
    return under("mcpServers", {{"type", "stdio"},
                                {"command", bridge.program},
                                {"args", Json::array()},
                                {"env", environment(bridge, "${SANDBOX_TOKEN:-}")}});
}

Json gemini(const Bridge& bridge) {
    return under("mcpServers", {{"command", bridge.program},
                                {"env", environment(bridge, "$SANDBOX_TOKEN")},
                                {"timeout", kCallSeconds * 1000}});
}

Json opencode(const Bridge& bridge) {
    return under("mcp", {{"type", "local"},
                         {"command", Json::array({bridge.program})},
                         {"environment", environment(bridge, "{env:SANDBOX_TOKEN}")},
                         {"enabled", true},
                         {"timeout", kCallSeconds * 1000}});
}

Json vscode(const Bridge& bridge) {
    const Json token{{"type", "promptString"},
                     {"id", "sandbox-token"},
                     {"description", "API token of the Sandbox server (empty when it wants none)"},
                     {"password", true}};
    return {
        {"inputs", Json::array({token})},
        {"servers",
         {{"sandbox",
           {{"type", "stdio"}, {"command", bridge.program}, {"env", environment(bridge, "${input:sandbox-token}")}}}}}};
}

Json cursor(const Bridge& bridge) {
    return under(
        "mcpServers",
        {{"type", "stdio"}, {"command", bridge.program}, {"env", environment(bridge, "${env:SANDBOX_TOKEN}")}});
}

/// JSON's strings are strings of TOML and YAML too.
std::string quoted(const std::string& text) {
    return dump_json(nlohmann::json(text));
}

/// A line for each variable but the token.
std::string variable_lines(const Bridge& bridge, std::string_view indent, std::string_view equals) {
    std::string text;
    const auto variables = environment(bridge, "");
    for (const auto& [name, value] : variables.items())
        text += fmt::format("{}{}{}{}\n", indent, name, equals, quoted(value.get<std::string>()));
    return text;
}

std::string codex(const Bridge& bridge) {
    return fmt::format(
        "[mcp_servers.sandbox]\n"
        "command = {}\n"
        "env_vars = [\"SANDBOX_TOKEN\"]\n"
        "tool_timeout_sec = {}\n\n"
        "[mcp_servers.sandbox.env]\n{}",
        quoted(bridge.program), kCallSeconds, variable_lines(bridge, "", " = "));
}

std::string goose(const Bridge& bridge) {
    return fmt::format(
        "extensions:\n"
        "  sandbox:\n"
        "    name: sandbox\n"
        "    description: Disposable machines for running code\n"
        "    type: stdio\n"
        "    enabled: true\n"
        "    cmd: {}\n"
        "    args: []\n"
        "    timeout: {}\n"
        "    env_keys: [SANDBOX_TOKEN]  # [] for a server that wants no token\n"
        "    envs:\n{}",
        quoted(bridge.program), kCallSeconds, variable_lines(bridge, "      ", ": "));
}

using enum McpClient::Format;
constexpr std::array kClients{
    McpClient{"claude", ".mcp.json of a project, or mcpServers in ~/.claude.json", json, claude, nullptr},
    McpClient{"codex", "~/.codex/config.toml", toml, nullptr, codex},
    McpClient{"gemini", "~/.gemini/settings.json", json, gemini, nullptr},
    McpClient{"opencode", "~/.config/opencode/opencode.json", json, opencode, nullptr},
    McpClient{"vscode", ".vscode/mcp.json", json, vscode, nullptr},
    McpClient{"cursor", "~/.cursor/mcp.json", json, cursor, nullptr},
    McpClient{"goose", "~/.config/goose/config.yaml", yaml, nullptr, goose},
};

}  // namespace

std::span<const McpClient> mcp_clients() {
    return kClients;
}

const McpClient* find_mcp_client(std::string_view name) {
    const auto found = std::ranges::find(kClients, name, &McpClient::name);
    return found == kClients.end() ? nullptr : &*found;
}

Json common_mcp_config(std::string_view server) {
    return under("mcpServers", {{"command", "sandbox-mcp"},
                                {"env", {{"SANDBOX_URL", server}, {"SANDBOX_TOKEN", "use-your-client-secret-store"}}}});
}

}  // namespace sandbox::cli
