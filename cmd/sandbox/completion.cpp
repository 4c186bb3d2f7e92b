#include "completion.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <unistd.h>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <sandbox/domain/agents.hpp>

#include "mcp_clients.hpp"
#include "text.hpp"

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

/// A person waits for this with a finger on the tab key.
constexpr auto kPatience = 1s;
constexpr std::int64_t kMostIds = 200;

struct Candidate {
    std::string word;
    std::string description;
};
using Candidates = std::vector<Candidate>;

Candidates plain(std::initializer_list<std::string_view> words) {
    Candidates candidates;
    for (const auto word : words) candidates.push_back({.word = std::string(word), .description = ""});
    return candidates;
}

template <class E, std::size_t N>
Candidates names_of(const domain::Names<E, N>& names) {
    Candidates candidates;
    for (const auto& [name, value] : names) candidates.push_back({.word = std::string(name), .description = ""});
    return candidates;
}

Candidates option_values(std::string_view command, std::string_view option) {
    if (option == "--color") return plain({"auto", "always", "never"});
    if (option == "--client") {
        Candidates clients;
        for (const auto& client : mcp_clients())
            clients.push_back({.word = std::string(client.name), .description = ""});
        return clients;
    }
    if (option == "--network") return plain({"deny", "restricted", "open"});
    if (option == "--isolation") return names_of(domain::kIsolationPreferenceNames);
    if (option == "--sensitivity") return names_of(domain::kSensitivityNames);
    if (option == "--state")
        return command == "operations" ? names_of(domain::kOperationStateNames) : names_of(domain::kSandboxStateNames);
    return {};
}

Candidates options_of(const CLI::App& command) {
    Candidates candidates;
    for (const auto* option : command.get_options())
        for (const auto& name : option->get_lnames())
            candidates.push_back({.word = "--" + name, .description = option->get_description()});
    return candidates;
}

Candidates commands_of(const CLI::App& command) {
    Candidates candidates;
    for (const auto* sub : command.get_subcommands([](const CLI::App*) { return true; }))
        candidates.push_back({.word = sub->get_name(), .description = sub->get_description()});
    return candidates;
}

enum class IdKind { none, sandbox, live_sandbox, operation, node };

IdKind kind_of_ids(const Place& place) {
    const auto& path = place.path;
    const auto is = [&](std::string_view name) { return path.front() == name; };
    if (path.empty() || (!place.positionals.empty() && !is("delete"))) return IdKind::none;
    if (is("exec") || is("extend") || is("delete")) return IdKind::live_sandbox;
    if (is("inspect") || is("operations")) return IdKind::sandbox;
    if (is("wait") || is("cancel")) return IdKind::operation;
    if (is("node") && path.size() == 2 && path.back() != "list") return IdKind::node;
    return IdKind::none;
}

Task<void> add_sandboxes(client::Client& client, bool live_only, Candidates& candidates) {
    client::ListQuery query;
    query.limit = kMostIds;
    if (live_only)
        for (const auto& [name, state] : domain::kSandboxStateNames)
            if (domain::is_live(state)) query.states.emplace_back(name);
    auto list = co_await client.sandboxes(query, in(kPatience));
    if (!list) co_return;
    for (const auto& sandbox : list->sandboxes)
        if (!live_only || domain::is_live(sandbox.state))
            candidates.push_back({.word = sandbox.id.text(),
                                  .description = fmt::format("{} {}", to_text(sandbox.state), sandbox.spec.image)});
}

Task<void> add_unfinished_operations(client::Client& client, Candidates& candidates) {
    client::ListQuery query;
    query.limit = kMostIds;
    for (const auto& [name, state] : domain::kOperationStateNames)
        if (!domain::has_ended(state)) query.states.emplace_back(name);
    auto list = co_await client.operations(query, in(kPatience));
    if (!list) co_return;
    for (const auto& operation : list->operations)
        if (!domain::has_ended(operation.state))
            candidates.push_back(
                {.word = operation.id.text(),
                 .description = fmt::format("{} {}", to_text(operation.kind), to_text(operation.state))});
}

Task<void> add_ids(client::Client& client, IdKind kind, Candidates& candidates) {
    if (kind == IdKind::sandbox || kind == IdKind::live_sandbox) {
        co_await add_sandboxes(client, kind == IdKind::live_sandbox, candidates);
    } else if (kind == IdKind::operation) {
        co_await add_unfinished_operations(client, candidates);
    } else {
        auto nodes = co_await client.nodes(in(kPatience));
        if (!nodes) co_return;
        for (const auto& node : *nodes) candidates.push_back({.word = node.id.text(), .description = node.name});
    }
}

/// The global options that tell where to ask, from a command line that is not whole yet.
Globals connection_of(std::span<const std::string> words) {
    Globals globals;
    const std::array<std::pair<std::string_view, std::optional<std::string>*>, 3> wanted{
        {{"--server", &globals.server}, {"--token", &globals.token}, {"--ca-file", &globals.ca_file}}};
    for (std::size_t i = 0; i < words.size(); ++i) {
        for (const auto& [name, value] : wanted) {
            if (words[i] == name && i + 1 < words.size()) *value = words[i + 1];
            if (words[i].starts_with(std::string(name) + "=")) *value = words[i].substr(name.size() + 1);
        }
    }
    return globals;
}

Candidates ids(IdKind kind, std::span<const std::string> words) {
    Candidates candidates;
    if (kind == IdKind::none) return candidates;
    asio::io_context io{1};
    Output output(false, true, ColorChoice::never);
    {
        Session session(io.get_executor(), connection_of(words), process_environment(), output);
        auto client = session.client();
        if (!client) return candidates;
        bool ended = false;
        asio::co_spawn(io, add_ids(**client, kind, candidates), [&ended](const std::exception_ptr&) { ended = true; });
        const auto until = in(kPatience);
        while (!ended && io.run_one_until(until) > 0) continue;
    }
    return candidates;
}

Candidates positional_values(const Place& place, std::span<const std::string> words) {
    if (place.path == std::vector<std::string>{"completion"} && place.positionals.empty())
        return plain({"bash", "zsh", "fish"});
    if (place.path == std::vector<std::string>{"agent", "run"} && place.positionals.empty()) {
        Candidates candidates;
        for (const auto& profile : domain::agent_profiles())
            candidates.push_back({.word = profile.name, .description = profile.display_name});
        return candidates;
    }
    return ids(kind_of_ids(place), words);
}

const CLI::App& find_command(CLI::App& root, const std::vector<std::string>& path) {
    CLI::App* command = &root;
    for (const auto& name : path) command = command->get_subcommand(name);
    return *command;
}

}  // namespace

int complete(CommandLine& line, std::span<const std::string> words) {
    if (!words.empty() && words.front() == "--") words = words.subspan(1);
    const std::string begun = words.empty() ? "" : words.back();
    const auto before = words.empty() ? words : words.first(words.size() - 1);
    const auto grammar = line.grammar();
    const auto place = walk(grammar, before);
    if (place.argv) return kDone;

    const auto& command = find_command(line.root(), place.path);
    Candidates candidates;
    if (!place.open_option.empty())
        candidates = option_values(command.get_name(), place.open_option);
    else if (begun.starts_with('-'))
        candidates = options_of(command);
    else if (!place.command->commands.empty())
        candidates = commands_of(command);
    else
        candidates = positional_values(place, before);

    std::string text;
    for (const auto& [word, description] : candidates) {
        if (!word.starts_with(begun)) continue;
        text += word;
        if (!description.empty()) text += "\t" + printable_line(description);
        text += '\n';
    }
    write_all(STDOUT_FILENO, text);
    return kDone;
}

}  // namespace sandbox::cli
