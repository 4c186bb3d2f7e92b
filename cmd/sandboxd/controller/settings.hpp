#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <sandbox/base/secret.hpp>
#include <sandbox/domain/validation.hpp>

namespace sandbox::sandboxd {

/// What the controller needs to know of the daemon's configuration.
struct ControllerSettings {
    Secret api_token;  // empty: operators need none (development on loopback)
    Secret previous_api_token;
    Secret node_token;  // empty: workers need none
    Secret previous_node_token;
    bool metrics_public = false;
    domain::SpecLimits limits;
    std::size_t request_body_limit_bytes = 1048576;
    std::size_t exec_body_limit_bytes = 16777216;
    std::int64_t max_output_bytes = 1048576;
    std::chrono::seconds heartbeat_interval{10};  // what workers are told: at most a third of the lease
};

}  // namespace sandbox::sandboxd
