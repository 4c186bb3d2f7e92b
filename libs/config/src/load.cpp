#include <filesystem>
#include <unistd.h>

#include <spdlog/fmt/fmt.h>

#include <sandbox/base/text.hpp>

#include "checks.hpp"
#include "key.hpp"
#include "settings.hpp"

namespace sandbox::config {
namespace {

constexpr std::string_view kDefaultFile = "sandbox.toml";

std::optional<std::string> variable(const Sources& sources, const std::string& name) {
    const auto found = sources.environment.find(name);
    if (found == sources.environment.end() || found->second.empty()) return std::nullopt;
    return found->second;
}

Result<Role> find_role(const Sources& sources) {
    if (sources.role) return *sources.role;
    const auto text = variable(sources, "SANDBOX_ROLE");
    if (!text) return Role::all;
    for (const auto& [name, role] : kRoleNames)
        if (name == *text) return role;
    return fail(Code::invalid_argument, fmt::format("SANDBOX_ROLE: must be controller, worker or all, not {}",
                                                    toml_string(shortened(to_utf8(*text), 80))));
}

/// The file that was asked for, which must exist, or the one in the working directory if there is one.
Result<void> add_configured_file(Settings& settings, const Sources& sources) {
    if (const auto asked = sources.config_file ? sources.config_file : variable(sources, "SANDBOX_CONFIG"))
        return add_file(settings, *asked, *asked);
    const auto path = std::filesystem::path(sources.working_directory) / kDefaultFile;
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !error) return {};
    return add_file(settings, path, std::string(kDefaultFile));
}

/// The single-machine defaults; every setting wins over them.
void apply_dev_defaults(Config& config, const Sources& sources) {
    config.server.bind = "127.0.0.1:8080";
    config.server.allow_unauthenticated_dev = true;
    config.policy.microvm_risk_threshold = 101;
    const auto data = variable(sources, "XDG_DATA_HOME");
    const auto home = variable(sources, "HOME");
    if (data && data->starts_with('/'))
        config.node.state_dir = *data + "/sandbox";
    else if (home)
        config.node.state_dir = *home + "/.local/share/sandbox";
}

std::string host_name() {
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
    return name;
}

Result<void> take_over(Config& config, const Settings& settings) {
    for (const auto& key : all_keys()) {
        const auto setting = settings.find(key.path);
        if (setting == settings.end()) continue;
        if (!key.read(config, setting->second.value())) return fail(wrong_value(key, setting->second));
    }
    for (const auto& key : all_keys()) {
        if (key.path.starts_with("tunnel.") && !config.tunnel.enabled) continue;
        const auto setting = settings.find(key.path);
        if (setting != settings.end() && !key.holds(config)) return fail(wrong_value(key, setting->second));
    }
    return {};
}

/// Defaults that depend on other settings or on the host.
void complete(Config& config) {
    if (config.node.name.empty()) config.node.name = host_name();
    if (config.role == Role::worker && !config.node.control_plane_url)
        config.node.control_plane_url = "http://127.0.0.1:8080";
    if (config.role == Role::all && config.node.token.empty()) config.node.token = config.server.node_token;
    if (config.node.runtime == RuntimeKind::docker && !config.node.isolation_tiers)
        config.node.isolation_tiers = std::vector{domain::Tier::container};
}

}  // namespace

Result<Config> load(const Sources& sources) {
    Config config;
    config.dev = sources.dev;
    auto role = find_role(sources);
    if (!role) return fail(std::move(role).error());
    config.role = *role;
    if (sources.dev) apply_dev_defaults(config, sources);

    Settings settings;
    if (auto added = add_configured_file(settings, sources); !added) return fail(std::move(added).error());
    if (auto added = add_environment(settings, sources.environment); !added) return fail(std::move(added).error());
    if (auto taken = take_over(config, settings); !taken) return fail(std::move(taken).error());
    complete(config);
    if (auto checked = check(config, settings); !checked) return fail(std::move(checked).error());
    return config;
}

}  // namespace sandbox::config
