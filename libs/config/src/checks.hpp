#pragma once

#include <string>
#include <string_view>

#include <sandbox/base/error.hpp>
#include <sandbox/config/config.hpp>

#include "settings.hpp"

namespace sandbox::config {

/// What several keys must keep together, and what must be there on this host. One sentence for the first that fails.
/// Creates a worker's state directory. Errors: invalid_argument.
[[nodiscard]] Result<void> check(const Config& config, const Settings& settings);

/// The rules of tunnel.*, asked only while tunnels are on.
[[nodiscard]] Result<void> check_tunnels(const Config& config);

/// Whether libpq can read store.database_url, which is not empty; it asks no server.
[[nodiscard]] Result<void> check_database_url(const Config& config, const Settings& settings);

/// Whether our HTTP client can use the URL that is at `path`.
[[nodiscard]] Result<void> check_url(std::string_view path, std::string_view url, const Settings& settings);

/// Settings that are right and that this version can't serve.
[[nodiscard]] Result<void> refuse_unbuilt(const Config& config);

/// "server.bind (sandbox.toml:3)", or the path alone when the value is a default.
[[nodiscard]] std::string named(std::string_view path, const Settings& settings);

[[nodiscard]] inline bool has_controller(Role role) noexcept {
    return role != Role::worker;
}
[[nodiscard]] inline bool has_worker(Role role) noexcept {
    return role != Role::controller;
}

}  // namespace sandbox::config
