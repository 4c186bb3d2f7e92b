#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include <sandbox/base/error.hpp>
#include <sandbox/config/config.hpp>

#include "key.hpp"

namespace sandbox::config {

/// A value that somebody gave for a key, with where it came from for messages.
struct Setting {
    toml::table holder;  // one entry, "value": a node by itself can't be kept
    std::string source;  // "sandbox.toml:12" or "SANDBOX__SERVER__BIND"

    [[nodiscard]] const toml::node& value() const { return *holder.get("value"); }
};

/// By the key's path; the last source wins.
using Settings = std::map<std::string, Setting, std::less<>>;

/// Adds what the file says. `name` is used in messages. Errors: invalid_argument for text that is not TOML and for
/// unknown keys.
[[nodiscard]] Result<void> add_file(Settings& settings, const std::string& path, const std::string& name);

/// Adds every SANDBOX__ variable, the files that …_FILE variables name, SANDBOX_LOG below SANDBOX__LOG__LEVEL, and
/// DOCKER_HOST below everything. Errors: invalid_argument for unknown variables, unreadable files, and a value that
/// stands beside its _FILE.
[[nodiscard]] Result<void> add_environment(Settings& settings, const std::map<std::string, std::string>& environment);

/// "server.bind" → "SANDBOX__SERVER__BIND".
[[nodiscard]] std::string variable_of(std::string_view path);

/// "server.bind (sandbox.toml:3): must be …, not …". The value is left out for secrets, lists and tables.
[[nodiscard]] Error wrong_value(const Key& key, const Setting& setting);

}  // namespace sandbox::config
