#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../settings.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

constexpr std::string_view kSettingsCode = "settings";

std::string_view source_of(ServerSource source) {
    switch (source) {
        case ServerSource::option:
            return "from --server";
        case ServerSource::variable:
            return "from SANDBOX_URL";
        case ServerSource::saved:
            return "saved";
        case ServerSource::built_in:
            return "built in; none is saved";
    }
    return "";
}

Task<Outcome> set_server(Session& session, std::string text) {
    auto url = parse_server(text);
    if (!url) co_return usage(url.error().message());  // not the text: it may hold a password
    auto path = settings_path(session.environment());
    if (!path) co_return failure(std::string(kSettingsCode), path.error().message());
    if (auto saved = save_server(*path, url->text()); !saved)
        co_return failure(std::string(kSettingsCode), saved.error().message());
    auto& output = session.output();
    if (output.json())
        output.document({{"config_path", *path}, {"server", url->text()}});
    else if (!output.quiet())
        output.out(fmt::format("saved {} in {}\n", url->text(), *path));
    co_return kDone;
}

Task<Outcome> show(Session& session) {
    auto server = choose_server(session.globals().server, session.environment());
    if (!server) co_return failure(std::string(kSettingsCode), server.error().message());
    const auto path = settings_path(session.environment());
    const bool token = !session.token().empty();
    auto& output = session.output();
    if (output.json()) {
        nlohmann::json document{{"config_path", nullptr}, {"server", server->url.text()}, {"token_configured", token}};
        if (path) document["config_path"] = *path;
        output.document(document);
    } else {
        output.out(fmt::format("Config:  {}\nServer:  {} ({})\nToken:   {}\n", path ? *path : "none: HOME is not set",
                               server->url.text(), source_of(server->source),
                               token ? "configured" : "none (SANDBOX_TOKEN is not set)"));
    }
    co_return kDone;
}

}  // namespace

void add_config(CommandLine& line) {
    auto& config =
        line.add(line.root(), "config", "This command's saved settings: the server's address, never a token", {});
    config.require_subcommand(1);
    auto url = std::make_shared<std::string>();
    auto& set = line.add(config, "set-server", "Save the address of the server to use",
                         {"sandbox config set-server https://sandbox.example.com"});
    set.add_option("URL", *url, "http:// or https://, a host, a port and a path prefix if need be")
        ->type_name("")
        ->required();
    line.on_chosen(set, [url]() -> Action { return [url](Session& session) { return set_server(session, *url); }; });
    auto& show_command =
        line.add(config, "show", "Show which server is used and whether there is a token", {"sandbox config show"});
    line.on_chosen(show_command, []() -> Action { return [](Session& session) { return show(session); }; });
}

}  // namespace sandbox::cli
