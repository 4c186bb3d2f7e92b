#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../operations.hpp"
#include "../show.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

Table::Cell readiness(const domain::Node& node, Timestamp now) {
    if (is_silent(node, now)) return {"silent", Color::red};
    if (node.draining) return {"draining", Color::yellow};
    return {"ready", Color::green};
}

std::string part(std::string_view free, std::string_view total) {
    return fmt::format("{} of {}", free, total);
}

std::string table_of(const std::vector<domain::Node>& nodes, Timestamp now, bool colors) {
    Table table({"ID", "NAME", "STATE", "REGION", "SANDBOXES", "FREE CPU", "FREE MEMORY", "FREE DISK", "SEEN"});
    for (const auto& node : nodes) {
        const auto& [total, available, max_sandboxes, running] = node.capacity;
        table.add(
            {node.id.text(), printable_line(node.name), readiness(node, now), printable_line(node.region),
             max_sandboxes > 0 ? part(std::to_string(running), std::to_string(max_sandboxes)) : std::to_string(running),
             part(fmt::format("{:g}", static_cast<double>(available.cpu_millis) / 1000), cores(total.cpu_millis)),
             part(mib(available.memory_mib), mib(total.memory_mib)), part(mib(available.disk_mib), mib(total.disk_mib)),
             ago(node.last_seen, now)});
    }
    return table.text(colors);
}

Task<Outcome> list_nodes(Session& session) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto nodes = co_await (*client)->nodes(in(kRequestTime));
    if (!nodes) co_return pass_on(nodes);
    auto& output = session.output();
    if (output.json())
        output.document(*nodes);
    else if (output.quiet())
        for (const auto& node : *nodes) output.out(node.id.text() + "\n");
    else if (nodes->empty())
        output.note("there are no nodes: no worker has registered yet");
    else
        output.out(table_of(*nodes, session.now(), output.colors()));
    co_return kDone;
}

Task<Outcome> drain(Session& session, std::string given, bool draining) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto id = co_await resolve_node(**client, std::move(given));
    if (!id) co_return pass_on(id);
    auto node = co_await (*client)->drain(*id, draining, in(kRequestTime));
    if (!node) co_return pass_on(node);
    auto& output = session.output();
    if (output.json())
        output.document(*node);
    else if (output.quiet())
        output.out(node->id.text() + "\n");
    else
        output.out(fmt::format(
            "node {} ({}) {}\n", printable_line(node->name), node->id.text(),
            draining ? "is draining: it keeps its sandboxes and gets no new ones" : "takes new sandboxes again"));
    co_return kDone;
}

void add_drain(CommandLine& line, CLI::App& parent, const std::string& name, const std::string& description,
               bool draining) {
    auto id = std::make_shared<std::string>();
    auto& command = line.add(parent, name, description, {"sandbox node " + name + " 01b7c3d9"});
    command.add_option("ID", *id, "The node's id, or six or more characters of its beginning or end")
        ->type_name("")
        ->required();
    line.on_chosen(command, [id, draining]() -> Action {
        return [id, draining](Session& session) { return drain(session, *id, draining); };
    });
}

}  // namespace

void add_node(CommandLine& line) {
    auto& node = line.add(line.root(), "node", "The hosts that sandboxes run on", {});
    node.require_subcommand(1);
    auto& list = line.add(node, "list", "List nodes with what they have free", {"sandbox node list"});
    line.on_chosen(list, []() -> Action { return [](Session& session) { return list_nodes(session); }; });
    add_drain(line, node, "drain", "Give a node no new sandboxes; it keeps those it has", true);
    add_drain(line, node, "undrain", "Give a drained node new sandboxes again", false);
}

}  // namespace sandbox::cli
