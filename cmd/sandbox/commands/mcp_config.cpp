#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "../mcp_clients.hpp"
#include "../settings.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

namespace fs = std::filesystem;

/// sandbox-mcp is installed beside this program.
client::Answer<std::string> bridge_program() {
    std::error_code error;
    const auto self = fs::read_symlink("/proc/self/exe", error);
    if (error) return failure("settings", "can't tell where this program is: " + error.message());
    return (self.parent_path() / "sandbox-mcp").string();
}

std::optional<std::string> absolute_ca_file(const Session& session) {
    auto file = session.globals().ca_file ? session.globals().ca_file : session.environment()("SANDBOX_CA_FILE");
    if (file) file = fs::absolute(*file).string();
    return file;
}

void show(Output& output, const McpClient& client, const Bridge& bridge) {
    using enum McpClient::Format;
    if (client.format == json)
        output.out(client.json(bridge).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    else if (output.json())
        output.document({{"client", client.name},
                         {"format", client.format == toml ? "toml" : "yaml"},
                         {"text", client.text(bridge)}});
    else
        output.out(client.text(bridge));
    output.closing_note(fmt::format("merge this into {}; the token stays in SANDBOX_TOKEN", client.file));
    std::error_code error;
    if (!fs::exists(bridge.program, error))
        output.closing_note(fmt::format("there is no program {} yet: install it there", bridge.program));
}

Task<Outcome> show_mcp_config(Session& session, std::string name) {
    auto server = choose_server(session.globals().server, session.environment());
    if (!server) co_return failure("settings", server.error().message());
    auto& output = session.output();
    if (name.empty()) {
        output.out(common_mcp_config(server->url.text()).dump(2) + "\n");
        co_return kDone;
    }
    auto program = bridge_program();
    if (!program) co_return pass_on(program);
    show(output, *find_mcp_client(name),
         {.program = std::move(*program), .server = server->url.text(), .ca_file = absolute_ca_file(session)});
    co_return kDone;
}

}  // namespace

void add_mcp_config(CommandLine& line) {
    auto client = std::make_shared<std::string>();
    auto& command = line.add(line.root(), "mcp-config", "Print what a coding agent's client needs to start sandbox-mcp",
                             {"sandbox mcp-config --client claude > .mcp.json",
                              "sandbox mcp-config --client codex >> ~/.codex/config.toml"});
    std::vector<std::string> names;
    for (const auto& known : mcp_clients()) names.emplace_back(known.name);
    command.add_option("--client", *client, "That client's own format, with the absolute path of sandbox-mcp")
        ->type_name(fmt::format("{}", fmt::join(names, "|")))
        ->check(CLI::IsMember(names).description(""));
    line.on_chosen(command, [client]() -> Action {
        return [client](Session& session) { return show_mcp_config(session, *client); };
    });
}

}  // namespace sandbox::cli
