#include <algorithm>
#include <command_line.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

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

/// What people and agents read beside docs/cli.md.
std::vector<std::filesystem::path> other_pages() {
    namespace fs = std::filesystem;
    const fs::path root(SANDBOX_SOURCE_DIR);
    std::vector<fs::path> pages{root / "docs/agents.md", root / "docs/mcp.md"};
    for (const auto& entry : fs::recursive_directory_iterator(root / "skills"))
        if (entry.path().extension() == ".md") pages.push_back(entry.path());
    return pages;
}

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The words after `sandbox` of every command line in a page, up to the end of its code, a pipe or a redirection.
std::vector<std::vector<std::string>> command_lines(const std::string& page) {
    std::vector<std::vector<std::string>> lines;
    const std::regex command(R"((?:`|\$ |\| |\()sandbox ([^`|>\n)]*))");
    for (std::sregex_iterator at(page.begin(), page.end(), command), end; at != end; ++at) {
        std::istringstream words((*at)[1]);
        lines.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    }
    return lines;
}

// What an agent is told to type exists, options included.
TEST(Documentation, of_agents_and_the_skill_name_only_commands_that_there_are) {
    CommandLine line;
    const auto grammar = line.grammar();
    std::size_t seen = 0;
    for (const auto& page : other_pages()) {
        for (const auto& words : command_lines(text_of(page))) {
            ++seen;
            const auto place = walk(grammar, words);
            EXPECT_TRUE(place.command->commands.empty()) << page << ": sandbox " << ::testing::PrintToString(words);
            EXPECT_TRUE(place.unknown.empty()) << page << ": " << ::testing::PrintToString(place.unknown);
        }
    }
    EXPECT_GT(seen, 20U);
}

// The bridge's tools are a contract of their own; a name that is none of them is a slip of the pen.
TEST(Documentation, of_the_skill_names_only_tools_that_there_are) {
    const std::set<std::string> tools{
        "sandbox_health",    "sandbox_create",        "sandbox_exec",         "sandbox_list", "sandbox_inspect",
        "sandbox_extend",    "sandbox_delete",        "sandbox_operation",    "sandbox_wait", "sandbox_agent_list",
        "sandbox_agent_run", "sandbox_tunnel_create", "sandbox_tunnel_delete"};
    std::set<std::string> named;
    const std::regex name("`(sandbox_[a-z_]+)`");
    for (const auto& page : other_pages()) {
        if (page.string().find("/skills/") == std::string::npos) continue;
        const auto text = text_of(page);
        for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) named.insert((*at)[1]);
    }
    EXPECT_EQ(named, tools);
}

}  // namespace
}  // namespace sandbox::cli
