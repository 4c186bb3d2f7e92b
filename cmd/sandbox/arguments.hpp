#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::cli {

/// Where a command's own argument vector begins, if it takes one.
enum class ArgvStart {
    never,
    after_dashes,      // at "--" only
    after_first_word,  // at the first word after the command's ID or NAME that is no option, or at "--"
};

/// What has to be known of a command to find its way through its words: its options and the commands below it.
struct Grammar {
    std::string name;                         // "exec"; the program's for the root
    std::map<std::string, bool> takes_value;  // "--timeout" → true, "--json" → false
    std::map<std::string, Grammar> commands;  // by name
    ArgvStart argv_start = ArgvStart::never;
};

/// Where a walk over a command line's words ended.
struct Place {
    const Grammar* command = nullptr;  // the innermost command named so far
    std::vector<std::string> path;     // its name from the root on: {"node", "drain"}
    std::vector<std::string> positionals;
    std::string open_option;           // the last word's, when its value is still to come
    std::optional<std::size_t> argv;   // index of the first word of argv, "--" already passed
    std::size_t options_end = 0;       // number of words before argv, less "--"
    std::vector<std::string> unknown;  // options that this command does not have
};

/// Walks over the words after the program's name. Never fails: what is odd is left for the parser to refuse.
[[nodiscard]] Place walk(const Grammar& root, std::span<const std::string> words);

/// A command line with its argument vector cut off, which no option parser may see: it passes byte for byte.
struct CutArguments {
    std::vector<std::string> words;                // for the parser
    std::optional<std::vector<std::string>> argv;  // nullopt when it never began
};
[[nodiscard]] CutArguments cut_arguments(const Grammar& root, std::span<const std::string> words);

}  // namespace sandbox::cli
