#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/http/url.hpp>
#include <sandbox/runtime/runtime.hpp>

namespace sandbox::runtime {

struct DockerSettings {
    http::Url engine;                        // node.docker_host
    std::optional<std::string> oci_runtime;  // node.docker_runtime
    std::vector<domain::Tier> tiers{domain::Tier::container};
    std::string restricted_network = "sandbox-egress";
    std::string guest_path;  // the sandbox-guest program on this host
    std::string state_dir;
    domain::NodeId node_id;
    std::chrono::seconds image_pull_timeout{600};
    std::vector<std::string> restricted_allow;
};

/// Sandboxes as containers of a Docker engine (or Podman's compatible socket), over its HTTP API.
[[nodiscard]] std::unique_ptr<Runtime> create_docker_runtime(asio::any_io_executor executor, DockerSettings settings);

}  // namespace sandbox::runtime
