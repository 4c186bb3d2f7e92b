#include "checks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/fmt/fmt.h>

#include "forms.hpp"

namespace sandbox::config {
namespace {

using Check = Result<void>;

template <class... Args>
std::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) {
    return fail(Code::invalid_argument, fmt::format(format, std::forward<Args>(args)...));
}

std::string reason() {
    return std::strerror(errno);
}

Check readable(std::string_view path, const std::optional<std::string>& file, const Settings& settings) {
    if (!file) return {};
    struct stat status{};
    if (stat(file->c_str(), &status) != 0 || access(file->c_str(), R_OK) != 0)
        return refuse("{}: {} cannot be read ({})", named(path, settings), *file, reason());
    if (S_ISDIR(status.st_mode)) return refuse("{}: {} is a directory", named(path, settings), *file);
    return {};
}

/// The two kinds of token keep operators and workers apart, also while one is being changed.
Check check_tokens(const Config& config, const Settings& settings) {
    const auto& server = config.server;
    if (server.allow_unauthenticated_dev && !is_loopback_bind(server.bind))
        return refuse(
            "{}: must be a loopback address such as 127.0.0.1:8080 while server.allow_unauthenticated_dev "
            "is true",
            named("server.bind", settings));
    for (const auto* path : {"server.api_token", "server.node_token"}) {
        const auto& token = std::string_view(path) == "server.api_token" ? server.api_token : server.node_token;
        if (token.empty() && !server.allow_unauthenticated_dev)
            return refuse("{} is not set: give {} or {}_FILE {}", path, variable_of(path), variable_of(path),
                          form::kToken.expects);
    }
    for (const auto* api : {&server.api_token, &server.previous_api_token})
        for (const auto* node : {&server.node_token, &server.previous_node_token})
            if (!api->empty() && api->reveal() == node->reveal())
                return refuse(
                    "server.api_token and server.node_token, also the previous ones, must differ from each "
                    "other");
    return {};
}

Check check_controller(const Config& config, const Settings& settings) {
    const auto& server = config.server;
    if (auto tokens = check_tokens(config, settings); !tokens) return tokens;
    if (server.tls_cert_file.has_value() != server.tls_key_file.has_value())
        return refuse("{} is set without {}: HTTPS needs both",
                      named(server.tls_cert_file ? "server.tls_cert_file" : "server.tls_key_file", settings),
                      server.tls_cert_file ? "server.tls_key_file" : "server.tls_cert_file");
    if (auto file = readable("server.tls_cert_file", server.tls_cert_file, settings); !file) return file;
    if (auto file = readable("server.tls_key_file", server.tls_key_file, settings); !file) return file;
    if (config.store.kind == StoreKind::postgres) {
        if (config.store.database_url.empty())
            return refuse("store.database_url is not set: {} needs it, {}", named("store.kind", settings),
                          form::kDatabaseUrl.expects);
        if (auto url = check_database_url(config, settings); !url) return url;
    }
    if (config.bus.kind == BusKind::nats)
        return readable("bus.credentials_file", config.bus.credentials_file, settings);
    return {};
}

Check check_driver(const Config& config, const Settings& settings) {
    if (!config.node.external_driver)
        return refuse("node.external_driver is not set: {} needs {}", named("node.runtime", settings),
                      form::kAbsolutePath.expects);
    const auto& driver = *config.node.external_driver;
    struct stat status{};
    if (stat(driver.c_str(), &status) != 0)
        return refuse("{}: {} is not there ({})", named("node.external_driver", settings), driver, reason());
    if (!S_ISREG(status.st_mode) || access(driver.c_str(), X_OK) != 0)
        return refuse("{}: {} is not an executable file", named("node.external_driver", settings), driver);
    return {};
}

/// Created for its owner alone, and really written to: permissions do not tell of read-only file systems.
Check check_state_dir(const std::string& directory, const Settings& settings) {
    const auto what = named("node.state_dir", settings);
    std::error_code error;
    const bool made = std::filesystem::create_directories(directory, error);
    if (error) return refuse("{}: {} cannot be created ({})", what, directory, error.message());
    if (made) std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
    const auto probe = fmt::format("{}/.write-check-{}", directory, getpid());
    const int file = open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return refuse("{}: {} is not writable ({})", what, directory, reason());
    close(file);
    unlink(probe.c_str());
    return {};
}

Check check_worker(const Config& config, const Settings& settings) {
    const auto& node = config.node;
    if (node.token.empty() && !config.server.allow_unauthenticated_dev)
        return refuse("node.token is not set: give the controller's node token in {} or {}_FILE",
                      variable_of("node.token"), variable_of("node.token"));
    if (node.control_plane_url) {
        if (auto url = check_url("node.control_plane_url", *node.control_plane_url, settings); !url) return url;
    }
    if (node.runtime == RuntimeKind::docker) {
        if (auto url = check_url("node.docker_host", node.docker_host, settings); !url) return url;
    }
    if (auto file = readable("node.ca_file", node.ca_file, settings); !file) return file;
    if (node.runtime == RuntimeKind::external) {
        if (auto driver = check_driver(config, settings); !driver) return driver;
    } else if (node.isolation_tiers && !node.docker_runtime &&
               std::ranges::find(*node.isolation_tiers, domain::Tier::microvm) != node.isolation_tiers->end()) {
        return refuse("{}: microvm with Docker needs node.docker_runtime, such as kata",
                      named("node.isolation_tiers", settings));
    }
    return check_state_dir(node.state_dir, settings);
}

}  // namespace

std::string named(std::string_view path, const Settings& settings) {
    const auto setting = settings.find(path);
    if (setting == settings.end()) return std::string(path);
    return fmt::format("{} ({})", path, setting->second.source);
}

Result<void> check(const Config& config, const Settings& settings) {
    if (config.dev && !is_loopback_bind(config.server.bind))
        return refuse("{}: --dev serves a loopback address only, such as 127.0.0.1:8080",
                      named("server.bind", settings));
    if (has_controller(config.role)) {
        if (auto controller = check_controller(config, settings); !controller) return controller;
    }
    if (config.tunnel.enabled) {
        if (auto tunnels = check_tunnels(config); !tunnels) return tunnels;
    }
    if (has_worker(config.role)) {
        if (auto worker = check_worker(config, settings); !worker) return worker;
    }
    return refuse_unbuilt(config);
}

Result<void> refuse_unbuilt(const Config& config) {
    if (config.tunnel.enabled) return refuse("tunnels are not available in this version; set tunnel.enabled = false");
    return {};
}

}  // namespace sandbox::config
