#include "options.hpp"

#include <algorithm>
#include <sstream>

#include <CLI/CLI.hpp>

#include <sandbox/base/version.hpp>

namespace sandbox::mcp {
namespace {

constexpr auto kLeastOutput = std::size_t{256};
constexpr auto kMostOutput = std::size_t{8} * 1024 * 1024;

Result<http::Url> parse_server(const std::string& text) {
    auto url = http::Url::parse(text);
    if (!url) return url;
    if (!text.starts_with("http://") && !text.starts_with("https://"))
        return fail(Code::invalid_argument, "a server's address begins with http:// or https://");
    return url;
}

}  // namespace

CommandLine read_command_line(std::vector<std::string> words) {
    Options options;
    std::string server = "http://127.0.0.1:8080";
    std::string token;
    std::string ca_file;
    std::string tenant;
    CLI::App app{
        "The bridge between coding agents and Sandbox: a Model Context Protocol server on standard input and output. "
        "An agent's client starts it; `sandbox mcp-config` prints what to tell the client.",
        "sandbox-mcp"};
    app.set_version_flag("--version", version_line("sandbox-mcp"));
    app.add_option("--server", server, "The server's address")
        ->type_name("URL")
        ->envname("SANDBOX_URL")
        ->capture_default_str();
    app.add_option("--token", token, "The API token; better in the variable, where process lists do not show it")
        ->type_name("TOKEN")
        ->envname("SANDBOX_TOKEN");
    app.add_option("--ca-file", ca_file, "Trust these certificate authorities (PEM) in place of the system's")
        ->type_name("FILE")
        ->envname("SANDBOX_CA_FILE");
    app.add_flag("--read-only", options.read_only, "Offer only the tools that change nothing")
        ->envname("SANDBOX_MCP_READ_ONLY");
    app.add_option("--tenant", tenant, "Whose sandboxes are meant when a call names no tenant")
        ->type_name("TENANT")
        ->envname("SANDBOX_TENANT");
    app.add_option("--max-output", options.max_output, "Bytes of each output stream of a command shown to the model")
        ->type_name("BYTES")
        ->envname("SANDBOX_MCP_MAX_OUTPUT")
        ->check(CLI::Range(kLeastOutput, kMostOutput).description(""))
        ->capture_default_str();

    std::ranges::reverse(words);
    try {
        app.parse(std::move(words));
    } catch (const CLI::Success& wanted) {
        std::ostringstream text;
        app.exit(wanted, text, text);
        return {.options = std::nullopt, .text = text.str(), .problem = ""};
    } catch (const CLI::ParseError& error) {
        return {.options = std::nullopt, .text = "", .problem = error.what()};
    }
    auto url = parse_server(server);
    if (!url)
        return {.options = std::nullopt, .text = "", .problem = "--server (SANDBOX_URL): " + url.error().message()};
    options.server = std::move(*url);
    options.token = Secret(std::move(token));
    if (!ca_file.empty()) options.ca_file = std::move(ca_file);
    if (!tenant.empty()) options.tenant = std::move(tenant);
    return {.options = std::move(options), .text = "", .problem = ""};
}

}  // namespace sandbox::mcp
