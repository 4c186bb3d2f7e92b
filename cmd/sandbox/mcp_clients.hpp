#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sandbox::cli {

/// What a client has to be told about sandbox-mcp. A token is never among it: each format names the variable that it
/// comes from, or the client's own secret store.
struct Bridge {
    std::string program;                 // absolute path
    std::string server;                  // SANDBOX_URL
    std::optional<std::string> ca_file;  // SANDBOX_CA_FILE, absolute
};

/// A client that can be told to start sandbox-mcp.
struct McpClient {
    std::string_view name;
    std::string_view file;  // where its user's settings are, for people
    enum class Format { json, toml, yaml } format;
    nlohmann::ordered_json (*json)(const Bridge&);  // the part to merge; of json formats only
    std::string (*text)(const Bridge&);             // the same for the others
};

/// In the order of the help.
[[nodiscard]] std::span<const McpClient> mcp_clients();
/// nullptr when there is none of that name.
[[nodiscard]] const McpClient* find_mcp_client(std::string_view name);

/// For a client that is not listed: the form that most of them read, the program looked up on the path.
[[nodiscard]] nlohmann::ordered_json common_mcp_config(std::string_view server);

}  // namespace sandbox::cli
