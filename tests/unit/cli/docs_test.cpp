#include <algorithm>
#include <command_line.hpp>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using Options = std::set<std::string>;

/// The options in the tables of docs/cli.md, by the command that the heading above names.
std::map<std::string, Options> documented() {
    std::map<std::string, Options> options;
    std::ifstream file(std::string(SANDBOX_SOURCE_DIR) + "/docs/cli.md");
    std::string command;
    const std::regex name("`(--[a-z-]+)");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("## Global options")) command = "global";
        if (line.starts_with("## `sandbox ")) command = line.substr(4, line.rfind('`') - 4);
        if (line.starts_with("## `sandbox ")) options[command];
        if (command.empty() || !line.starts_with("| `--")) continue;
        const auto cell = line.substr(0, line.find(" | "));
        for (std::sregex_iterator at(cell.begin(), cell.end(), name), end; at != end; ++at)
            options[command].insert((*at)[1]);
    }
    return options;
}

/// The options of every command that does something, less the global ones.
void collect(const Grammar& grammar, const Options& global, std::map<std::string, Options>& options) {
    for (const auto& [name, below] : grammar.commands) collect(below, global, options);
    if (!grammar.commands.empty()) return;
    auto& own = options[grammar.name];
    for (const auto& [name, takes_value] : grammar.takes_value)
        if (name.starts_with("--") && !global.contains(name)) own.insert(name);
}

// docs/cli.md has every command and every option, and none that does not exist.
TEST(Documentation, has_the_commands_and_options_that_there_are) {
    CommandLine line;
    const auto grammar = line.grammar();
    std::map<std::string, Options> real;
    for (const auto& [name, takes_value] : grammar.takes_value)
        if (name.starts_with("--")) real["global"].insert(name);
    const auto global = real["global"];
    collect(grammar, global, real);

    EXPECT_EQ(documented(), real);
}

}  // namespace
}  // namespace sandbox::cli
