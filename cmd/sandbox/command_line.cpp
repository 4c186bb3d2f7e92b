#include "command_line.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sandbox/base/text.hpp>
#include <sandbox/base/version.hpp>

#include "commands/commands.hpp"

namespace sandbox::cli {
namespace {

/// CLI11's help with the argument vector in the usage line.
class HelpFormatter : public CLI::Formatter {
public:
    using UsageEnd = std::function<std::string(const CLI::App*)>;
    explicit HelpFormatter(UsageEnd usage_end) : usage_end_(std::move(usage_end)) {
        column_width(34);
        label("SUBCOMMAND", "COMMAND");
        label("Positionals", "Arguments");
        label("Subcommands", "Commands");
    }
    std::string make_usage(const CLI::App* command, std::string /*name*/) const override {
        std::string path;
        for (const auto* at = command; at != nullptr; at = at->get_parent())
            path = at->get_name() + (path.empty() ? "" : " ") + path;
        auto usage = CLI::Formatter::make_usage(command, path);
        if (const auto end = usage_end_(command); !end.empty()) usage.insert(usage.size() - 1, " " + end);
        return "\n" + usage;
    }
    std::string make_option_opts(const CLI::Option* option) const override {
        std::string text;
        if (option->get_type_size() != 0 && !option->get_type_name().empty()) text += " " + option->get_type_name();
        if (option->get_required()) text += " (required)";
        return text;
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        const auto initial = option->get_default_str();
        return option->get_description() + (initial.empty() ? "" : fmt::format(" [{}]", initial));
    }
    std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override {
        auto text = CLI::Formatter::make_help(command, std::move(name), mode);
        // It ends a group of options with an empty line and begins the next one with another.
        for (auto at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) text.erase(at, 1);
        return text;
    }

private:
    UsageEnd usage_end_;
};

std::string nearest_of(std::string_view word, const std::vector<std::string>& names) {
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const auto near = nearest(word, candidates);
    return near ? fmt::format("; did you mean {}?", *near) : std::string();
}

std::string unknown_option(const Place& place) {
    std::vector<std::string> names;
    for (const auto& [name, takes_value] : place.command->takes_value) names.push_back(name);
    const auto& option = place.unknown.front();
    auto problem =
        fmt::format("`{}` has no option {}{}", place.command->name, printable_line(option), nearest_of(option, names));
    if (place.command->argv_start == ArgvStart::after_first_word)
        problem += " (words for the command itself go after --)";
    return problem;
}

/// A word where a command's name should stand.
std::optional<std::string> unknown_command(const Place& place) {
    if (place.command->commands.empty() || place.positionals.empty()) return std::nullopt;
    std::vector<std::string> names;
    for (const auto& [name, grammar] : place.command->commands) names.push_back(name);
    const auto& word = place.positionals.front();
    return fmt::format("`{}` has no command {}{}", place.command->name, printable_line(word), nearest_of(word, names));
}

}  // namespace

CommandLine::CommandLine()
    : root_("Disposable, isolated environments for running code that nobody has read.", "sandbox") {
    root_.formatter(std::make_shared<HelpFormatter>([this](const CLI::App* command) {
        const auto rule = argv_rules_.find(command);
        return rule == argv_rules_.end() ? std::string() : rule->second.usage;
    }));
    root_.set_help_flag("-h,--help", "Show this help and exit");
    root_.set_version_flag("--version", version_line("sandbox"), "Show the version and exit");
    root_.require_subcommand(1);
    root_.footer("`sandbox COMMAND --help` shows a command's options and examples.");
    add_globals(root_);
    add_commands(*this);
}

void CommandLine::add_globals(CLI::App& command) {
    constexpr auto kGroup = "Global options";
    command
        .add_option_function<std::string>(
            "--server", [this](const std::string& value) { globals_.server = value; },
            "The server's address (SANDBOX_URL; then the saved one, then http://127.0.0.1:8080)")
        ->type_name("URL")
        ->group(kGroup);
    command
        .add_option_function<std::string>(
            "--token", [this](const std::string& value) { globals_.token = value; },
            "The API token; better in SANDBOX_TOKEN, where process lists do not show it")
        ->type_name("TOKEN")
        ->group(kGroup);
    command
        .add_option_function<std::string>(
            "--ca-file", [this](const std::string& value) { globals_.ca_file = value; },
            "Trust these certificate authorities (PEM) in place of the system's (SANDBOX_CA_FILE)")
        ->type_name("FILE")
        ->group(kGroup);
    command
        .add_option_function<std::string>(
            "--color",
            [this](const std::string& value) {
                globals_.color = value == "always"  ? ColorChoice::always
                                 : value == "never" ? ColorChoice::never
                                                    : ColorChoice::automatic;
            },
            "Colours: auto is on a terminal without NO_COLOR")
        ->type_name("auto|always|never")
        ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
        ->group(kGroup);
    command.add_flag_callback(
               "--json", [this] { globals_.json = true; }, "One JSON document on standard output")
        ->group(kGroup);
    command
        .add_flag_callback(
            "--quiet", [this] { globals_.quiet = true; }, "Only ids and results; no notes, no progress")
        ->group(kGroup);
}

CLI::App& CommandLine::add(CLI::App& parent, const std::string& name, const std::string& description,
                           const std::vector<std::string>& examples) {
    auto& command = *parent.add_subcommand(name, description);
    command.group("Commands");
    add_globals(command);
    if (!examples.empty()) command.footer(fmt::format("Examples:\n  {}", fmt::join(examples, "\n  ")));
    return command;
}

void CommandLine::takes_argv(CLI::App& command, ArgvStart start, const std::string& usage) {
    argv_rules_[&command] = {.start = start, .usage = usage};
}

void CommandLine::on_chosen(CLI::App& command, std::function<Action()> make_action) {
    command.final_callback([this, make = std::move(make_action)] { action_ = make(); });
}

Grammar CommandLine::grammar_of(const CLI::App& command, const std::string& parent) const {
    Grammar grammar;
    grammar.name = parent + command.get_name();
    if (const auto rule = argv_rules_.find(&command); rule != argv_rules_.end())
        grammar.argv_start = rule->second.start;
    for (const auto* option : command.get_options()) {
        for (const auto& name : option->get_lnames())
            grammar.takes_value["--" + name] = option->get_items_expected_max() > 0;
        for (const auto& name : option->get_snames())
            grammar.takes_value["-" + name] = option->get_items_expected_max() > 0;
    }
    for (const auto* sub : command.get_subcommands([](const CLI::App*) { return true; }))
        grammar.commands.emplace(sub->get_name(), grammar_of(*sub, grammar.name + " "));
    return grammar;
}

Grammar CommandLine::grammar() const {
    return grammar_of(root_, "");
}

CommandLine::Parsed CommandLine::parse(std::span<const std::string> words) {
    const auto known = grammar();
    auto cut = cut_arguments(known, words);
    const auto place = walk(known, cut.words);
    globals_.json = std::ranges::find(cut.words, "--json") != cut.words.end();
    if (!place.unknown.empty()) return {.action = {}, .text = "", .problem = unknown_option(place)};
    if (auto problem = unknown_command(place)) return {.action = {}, .text = "", .problem = *problem};

    argv_ = std::move(cut.argv);
    std::ranges::reverse(cut.words);
    try {
        root_.parse(std::move(cut.words));
    } catch (const CLI::Success& wanted) {
        std::ostringstream text;
        root_.exit(wanted, text, text);
        return {.action = {}, .text = text.str(), .problem = ""};
    } catch (const CLI::ParseError& error) {
        if (!place.command->commands.empty())
            return {.action = {},
                    .text = "",
                    .problem = fmt::format("a command is missing (`{} --help` lists them)", place.command->name)};
        return {.action = {},
                .text = "",
                .problem =
                    fmt::format("{} (`{} --help` shows what is right)", printable(error.what()), place.command->name)};
    }
    return {.action = std::move(action_), .text = "", .problem = ""};
}

CLI::Option& add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                          const std::string& description, const std::string& type) {
    return *command.add_option(name, values, description)->type_name(type)->allow_extra_args(false);
}

}  // namespace sandbox::cli
