#include <fstream>
#include <map>
#include <options.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <tools.hpp>

#include <gtest/gtest.h>

namespace sandbox::mcp {
namespace {

struct Described {
    std::set<std::string> required;
    std::map<std::string, std::string> arguments;  // with the default as text, "" for none
    std::string hints;

    bool operator==(const Described&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Described& tool) {
    for (const auto& name : tool.required) out << name << "! ";
    for (const auto& [name, otherwise] : tool.arguments) out << name << "=" << otherwise << " ";
    return out << tool.hints;
}

std::vector<std::string> cells_of(const std::string& row) {
    std::vector<std::string> cells;
    std::istringstream text(row.substr(1));
    for (std::string cell; std::getline(text, cell, '|');) {
        const auto begin = cell.find_first_not_of(' ');
        if (begin == std::string::npos) continue;
        cells.push_back(cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
    }
    return cells;
}

/// The tools' table of docs/mcp.md: | `name` | `required`; `optional` default, … | yes / no / yes / no | … |
std::map<std::string, Described> documented() {
    std::map<std::string, Described> tools;
    std::ifstream file(std::string(SANDBOX_SOURCE_DIR) + "/docs/mcp.md");
    const std::regex argument("`([a-z_]+)`(?: ([0-9]+|true|false|[a-z]+)(?=,|;|$))?");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("| `sandbox_")) continue;
        const auto cells = cells_of(line);
        Described tool;
        tool.hints = cells.at(2);
        const auto& arguments = cells.at(1);
        const auto semicolon = arguments.find(';');
        for (std::sregex_iterator at(arguments.begin(), arguments.end(), argument), end; at != end; ++at) {
            tool.arguments[(*at)[1]] = (*at)[2];
            const bool optional =
                semicolon != std::string::npos && static_cast<std::size_t>(at->position()) > semicolon;
            if (!optional) tool.required.insert((*at)[1]);
        }
        tools[cells.at(0).substr(1, cells.at(0).size() - 2)] = std::move(tool);
    }
    return tools;
}

std::map<std::string, Described> real() {
    std::map<std::string, Described> tools;
    const auto list = list_of_tools({});
    for (const auto& tool : list["tools"]) {
        Described described;
        for (const auto& name : tool["inputSchema"].value("required", Json::array()))
            described.required.insert(name.get<std::string>());
        for (const auto& [name, schema] : tool["inputSchema"]["properties"].items()) {
            const auto otherwise = schema.value("default", Json());
            described.arguments[name] = otherwise.is_null()     ? ""
                                        : otherwise.is_string() ? otherwise.get<std::string>()
                                                                : otherwise.dump();
        }
        for (const auto* hint : {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})
            described.hints += (described.hints.empty() ? "" : " / ") +
                               std::string(tool["annotations"][hint].get<bool>() ? "yes" : "no");
        tools[tool["name"].get<std::string>()] = std::move(described);
    }
    return tools;
}

// docs/mcp.md has every tool with its arguments, defaults and hints, and none that does not exist.
TEST(Documentation, has_the_tools_that_there_are) {
    EXPECT_EQ(documented(), real());
}

TEST(Documentation, has_the_options_that_there_are) {
    std::ifstream file(std::string(SANDBOX_SOURCE_DIR) + "/docs/mcp.md");
    std::set<std::string> written;
    const std::regex option("^\\| `(--[a-z-]+)[^|]*\\| `([A-Z_]+)`");
    for (std::string line; std::getline(file, line);)
        if (std::smatch match; std::regex_search(line, match, option))
            written.insert(match[1].str() + " " + match[2].str());

    std::set<std::string> offered;
    const auto help = read_command_line({"--help"}).text;
    const std::regex in_help("(--[a-z-]+)[^(\n]*\\(Env:([A-Z_]+)\\)");
    for (std::sregex_iterator at(help.begin(), help.end(), in_help), end; at != end; ++at)
        offered.insert((*at)[1].str() + " " + (*at)[2].str());
    EXPECT_EQ(written, offered);
    EXPECT_EQ(offered.size(), 6U);
}

}  // namespace
}  // namespace sandbox::mcp
