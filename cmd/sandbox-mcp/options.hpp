#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sandbox/base/secret.hpp>
#include <sandbox/http/url.hpp>

namespace sandbox::mcp {

/// What one run of the bridge was told on its command line and in its environment.
struct Options {
    http::Url server;
    Secret token;
    std::optional<std::string> ca_file;
    /// Only tools that change nothing are offered.
    bool read_only = false;
    /// Whose sandboxes are meant when a call names nobody.
    std::optional<std::string> tenant;
    /// How much of a command's output a model is shown, in bytes of each stream.
    std::size_t max_output = 10000;
};

/// The options, or what the command line asks to be said instead of a run.
struct CommandLine {
    std::optional<Options> options;
    std::string text;     // help or version, for standard output
    std::string problem;  // what is wrong, for standard error
};

/// Reads the words after the program's name; options win over the environment's variables, and an empty variable counts
/// as none.
[[nodiscard]] CommandLine read_command_line(std::vector<std::string> words);

}  // namespace sandbox::mcp
