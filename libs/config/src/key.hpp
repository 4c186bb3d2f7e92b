#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include <sandbox/config/config.hpp>

namespace sandbox::config {

/// How an environment variable's text becomes a value of the key.
enum class Kind { text, integer, boolean, list, table };

/// One setting: all that is known of it stands here, and everything else follows the list of these.
struct Key {
    std::string_view path;  // server.bind
    Kind kind = Kind::text;
    bool secret = false;
    bool may_be_empty = false;  // an empty variable says something; for other keys it is the same as none
    std::string expects;        // what a right value is: "an integer from 1 to 100"
    std::string default_text;   // as TOML, or in words where it is no constant
    std::string_view meaning;

    /// Takes the value over; false when it has the wrong type.
    std::function<bool(Config&, const toml::node&)> read;
    /// Whether the present value keeps the key's range or form.
    std::function<bool(const Config&)> holds;
    /// The present value as TOML; "" when there is none.
    std::function<std::string(const Config&)> write;
};

/// In the order of the documentation.
[[nodiscard]] std::span<const Key> all_keys();
/// nullptr when there is none.
[[nodiscard]] const Key* find_key(std::string_view path);

/// A string in TOML's basic form, on one line.
[[nodiscard]] std::string toml_string(std::string_view text);

}  // namespace sandbox::config
