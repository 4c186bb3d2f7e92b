#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sandbox/base/error.hpp>
#include <sandbox/base/secret.hpp>

namespace sandbox::runtime::docker {

/// An image's name taken apart, as a pull needs it.
struct ImageReference {
    std::string registry;    // "docker.io", "ghcr.io", "127.0.0.1:5000"
    std::string repository;  // as the engine takes it: with the registry where one was named
    std::string tag;         // or a digest, "sha256:…"; "latest" when the name has neither

    [[nodiscard]] static ImageReference parse(std::string_view text);
    /// Images tagged :local are made on the host and never pulled.
    [[nodiscard]] bool is_local() const { return tag == "local"; }
};

/// The X-Registry-Auth header for a registry, from the engine's client configuration (`config_json` is the content of
/// ~/.docker/config.json). Empty when it holds no login for it.
[[nodiscard]] Secret registry_credentials(std::string_view config_json, std::string_view registry);
/// The content of $DOCKER_CONFIG/config.json or ~/.docker/config.json; empty when there is none.
[[nodiscard]] Secret read_client_config();

/// Says what a failed pull means to whoever asked for the image. Codes: not_found (no such image), permission_denied
/// (login refused), unavailable (registry not reached, and all else), deadline_exceeded (the pull's own limit).
[[nodiscard]] Error pull_error(const ImageReference& image, std::string_view image_name, const Error& cause);

}  // namespace sandbox::runtime::docker
