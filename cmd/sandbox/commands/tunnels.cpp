#include <memory>

#include "commands.hpp"

namespace sandbox::cli {
namespace {

Task<Outcome> refuse_tunnels(Session&) {
    co_return failure("unavailable", "tunnels are not available in this version");
}

struct TunnelOptions {
    std::string id;
    std::string tunnel;
    std::string subdomain;
    std::string relay;
    int port = 0;
    bool no_wait = false;
};

}  // namespace

void add_tunnels(CommandLine& line) {
    auto options = std::make_shared<TunnelOptions>();
    auto& tunnel = line.add(line.root(), "tunnel", "Publish a sandbox's port (not available in this version)", {});
    tunnel.require_subcommand(1);
    auto& create = line.add(tunnel, "create", "Publish a port on a hostname (not available in this version)", {});
    create.add_option("ID", options->id, "The sandbox's id")->type_name("")->required();
    create.add_option("--port", options->port, "The port inside the sandbox")->type_name("P")->required();
    create.add_option("--subdomain", options->subdomain, "The hostname's first label")->type_name("NAME");
    create.add_flag("--no-wait", options->no_wait, "Return as soon as the server has taken the request");
    auto& list = line.add(tunnel, "list", "List a sandbox's tunnels (not available in this version)", {});
    list.add_option("ID", options->id, "The sandbox's id")->type_name("")->required();
    auto& remove = line.add(tunnel, "delete", "Take a tunnel down (not available in this version)", {});
    remove.add_option("ID", options->id, "The sandbox's id")->type_name("")->required();
    remove.add_option("TUNNEL", options->tunnel, "The tunnel's id")->type_name("")->required();
    remove.add_flag("--no-wait", options->no_wait, "Return as soon as the server has taken the request");
    auto& http = line.add(line.root(), "http", "Publish a port of this machine (not available in this version)", {});
    http.add_option("PORT", options->port, "The port on this machine")->type_name("")->required();
    http.add_option("--relay", options->relay, "The relay's address (SANDBOX_HTTP_RELAY)")->type_name("URL");
    http.add_option("--subdomain", options->subdomain, "The hostname's first label")->type_name("NAME");
    for (auto* command : {&create, &list, &remove, &http})
        line.on_chosen(*command,
                       [options]() -> Action { return [](Session& session) { return refuse_tunnels(session); }; });
}

}  // namespace sandbox::cli
