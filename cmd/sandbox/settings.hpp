#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sandbox/base/error.hpp>
#include <sandbox/http/url.hpp>

namespace sandbox::cli {

/// Reads an environment variable; one that is empty counts as not set. Injected for tests.
using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] Environment process_environment();

/// A server's address as this command takes it: http or https only.
/// Errors: invalid_argument with what is wrong.
[[nodiscard]] Result<http::Url> parse_server(std::string_view text);

/// Where the settings are saved: $SANDBOX_CONFIG (absolute), $XDG_CONFIG_HOME/sandbox/config.json,
/// ~/.config/sandbox/config.json. Errors: invalid_argument when none of them can be told.
[[nodiscard]] Result<std::string> settings_path(const Environment& environment);

/// The saved server; nullopt when nothing is saved. Errors: invalid_argument when the file is not this command's own.
[[nodiscard]] Result<std::optional<std::string>> saved_server(const std::string& path);

/// Saves it. A file there that is not this command's own JSON (the daemon uses SANDBOX_CONFIG for its own) is never
/// replaced. Errors: invalid_argument, unavailable.
[[nodiscard]] Result<void> save_server(const std::string& path, const std::string& server);

enum class ServerSource { option, variable, saved, built_in };

struct ChosenServer {
    http::Url url;
    ServerSource source = ServerSource::built_in;
};
/// Which server: the option, SANDBOX_URL, the saved one, http://127.0.0.1:8080. The saved file is only read when
/// neither of the first two is there. Errors: invalid_argument.
[[nodiscard]] Result<ChosenServer> choose_server(const std::optional<std::string>& option,
                                                 const Environment& environment);

}  // namespace sandbox::cli
