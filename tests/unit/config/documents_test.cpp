// The documentation and the example file say what the program does.
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include "loading.hpp"

namespace sandbox::config {
namespace {

const std::string kRoot = SANDBOX_SOURCE_DIR;

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

/// The rows of the tables of keys: | `key` | default | meaning |. Only such rows begin with a name that has a dot.
std::vector<std::pair<std::string, std::string>> documented_keys() {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const auto& line : lines_of(kRoot + "/docs/configuration.md")) {
        if (!line.starts_with("| `")) continue;
        const auto end = line.find("` | ");
        const auto name = line.substr(3, end - 3);
        if (name.find('.') == std::string::npos) continue;
        auto value = line.substr(end + 4);
        value = value.substr(0, value.find(" | "));
        std::erase(value, '`');
        rows.emplace_back(name, value);
    }
    return rows;
}

TEST(Documents, list_exactly_the_keys_with_their_defaults) {
    EXPECT_EQ(documented_keys(), keys());
}

/// The example with its settings in force: "#name = value" is a setting, "# words" is a comment.
std::string uncommented_example() {
    std::string text;
    for (const auto& line : lines_of(kRoot + "/config/sandbox.example.toml")) {
        const bool setting = line.size() > 1 && line[0] == '#' && line[1] != ' ' && line[1] != '#';
        text += (setting ? line.substr(1) : line) + '\n';
    }
    return text;
}

TEST(Documents, show_every_key_in_the_example) {
    const auto example = toml::parse(uncommented_example());
    std::vector<std::string> shown;
    for (const auto& [section, table] : example)
        for (const auto& [name, value] : *table.as_table())
            shown.push_back(std::string(section.str()) + "." + std::string(name.str()));

    std::vector<std::string> wanted;
    for (const auto& [key, value] : keys()) wanted.push_back(key);
    EXPECT_THAT(shown, testing::UnorderedElementsAreArray(wanted));
}

// What has a constant default is shown with it, so that taking a comment sign away changes nothing.
TEST(Documents, show_the_defaults_in_the_example) {
    std::string section;
    std::map<std::string, std::string> shown;
    for (const auto& line : lines_of(kRoot + "/config/sandbox.example.toml")) {
        if (line.starts_with("[")) section = line.substr(1, line.find(']') - 1);
        if (const auto equals = line.find(" = ");
            line.starts_with("#") && !line.starts_with("# ") && equals != line.npos)
            shown[section + "." + line.substr(1, equals - 1)] = line.substr(equals + 3);
    }
    for (const auto& [key, value] : keys()) {
        const bool constant = value.find_first_not_of("0123456789") == std::string::npos || value == "true" ||
                              value == "false" || value == "[]" || value == "{}" ||
                              (value.starts_with('"') && value.find('"', 1) == value.size() - 1);
        if (constant) EXPECT_EQ(shown[key], value) << key;
    }
}

// As it is, the example changes nothing: it can be copied first and edited later.
TEST(Documents, ship_an_example_that_starts) {
    Start start;
    start.sources.config_file = kRoot + "/config/sandbox.example.toml";
    const auto with_example = describe(start.config());

    start.sources.config_file.reset();
    EXPECT_EQ(with_example, describe(start.config()));
}

}  // namespace
}  // namespace sandbox::config
