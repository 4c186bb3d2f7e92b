#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <sandbox/async/task.hpp>

#include "arguments.hpp"
#include "session.hpp"

namespace sandbox::cli {

using Argv = std::vector<std::string>;
using Action = std::function<Task<Outcome>(Session&)>;

/// The whole command line: every command with its options, and what was chosen of it. Commands add themselves at
/// construction (commands/) and put their action in place when they are parsed.
class CommandLine {
public:
    CommandLine();

    /// Adds a command below `parent`, with the global options. `examples` are whole lines for its help.
    CLI::App& add(CLI::App& parent, const std::string& name, const std::string& description,
                  const std::vector<std::string>& examples);
    /// Says that the command takes an argument vector.
    void takes_argv(CLI::App& command, ArgvStart start, const std::string& usage);
    /// What happens when this command was given. `action` is made after its options have been read; it may throw
    /// CLI::ValidationError for what only it can check.
    void on_chosen(CLI::App& command, std::function<Action()> make_action);

    CLI::App& root() noexcept { return root_; }
    [[nodiscard]] Grammar grammar() const;
    [[nodiscard]] const Globals& globals() const noexcept { return globals_; }
    /// What follows the command's own words; nullopt when there was none.
    [[nodiscard]] const std::optional<Argv>& argv() const noexcept { return argv_; }

    struct Parsed {
        Action action;        // empty when `text` is all there is to do
        std::string text;     // help or version
        std::string problem;  // what is wrong with the command line
    };
    /// Reads the words after the program's name.
    [[nodiscard]] Parsed parse(std::span<const std::string> words);

private:
    struct ArgvRule {
        ArgvStart start;
        std::string usage;
    };
    void add_globals(CLI::App& command);
    [[nodiscard]] Grammar grammar_of(const CLI::App& command, const std::string& parent) const;

    std::map<const CLI::App*, ArgvRule> argv_rules_;
    Globals globals_;
    std::optional<Argv> argv_;
    Action action_;
    CLI::App root_;
};

/// Reads a repeatable option whose values are taken as they are; CLI11 would split "[a,b]".
CLI::Option& add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                          const std::string& description, const std::string& type);

/// The value of a Result, or the end of parsing with its message.
template <class T>
T value_or_refuse(Result<T> result) {
    if (!result) throw CLI::ValidationError(result.error().message());
    return std::move(*result);
}

}  // namespace sandbox::cli
