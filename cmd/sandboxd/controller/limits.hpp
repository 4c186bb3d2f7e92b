#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sandbox::sandboxd {

/// For the store to answer one call: past it the caller gets a clear 503.
inline constexpr std::chrono::seconds kStoreTimeout{5};
/// For the store to show that it lives, at /readyz.
inline constexpr std::chrono::seconds kReadyTimeout{2};
/// How old what /readyz says of the events may be.
inline constexpr std::chrono::seconds kLagLifetime{5};
/// For the last events to leave when the daemon stops.
inline constexpr std::chrono::seconds kLastEvents{3};
/// The longest that an answer is held back by wait_seconds.
inline constexpr std::int64_t kMaxWaitSeconds = 60;
/// Inventories and image lists of a large node.
inline constexpr std::size_t kHeartbeatLimitBytes = std::size_t{4} * 1024 * 1024;

inline constexpr const char* kTunnelsOff =
    "tunnels are not available in this version: create the sandbox without exposures";

}  // namespace sandbox::sandboxd
