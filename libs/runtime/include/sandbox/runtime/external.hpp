#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sandbox/domain/spec.hpp>
#include <sandbox/runtime/runtime.hpp>

namespace sandbox::runtime {

/// How long a driver may take for each action before it is killed. The contract's own; tests shorten them.
struct DriverLimits {
    std::chrono::milliseconds probe{10'000};
    std::chrono::milliseconds create{120'000};
    std::chrono::milliseconds beyond_exec{5'000};  // past the command's own time limit
    std::chrono::milliseconds destroy{60'000};
    std::chrono::milliseconds list{5'000};  // a heartbeat waits for it
    std::chrono::milliseconds cancel{10'000};
    std::chrono::milliseconds kill_grace{2'000};  // between SIGTERM and SIGKILL
};

struct ExternalSettings {
    std::string driver;     // node.external_driver
    std::string launcher;   // the sandbox-driver-run program on this host
    std::string state_dir;  // given to the driver as SANDBOX_STATE_DIR
    std::string node_name;  // and as SANDBOX_NODE_NAME
    /// node.isolation_tiers: what of the probe's answer this node offers; all of it when not set.
    std::optional<std::vector<domain::Tier>> tiers;
    DriverLimits limits;
    /// How old a probe's answer may be before status() asks anew.
    std::chrono::milliseconds probe_again{60'000};
};

/// Beside what a worker asks, what somebody does who tries a driver.
class DriverRuntime : public Runtime {
public:
    /// One run for an action of any name: what it printed, when it ended with status 0 in that time.
    virtual Task<Result<std::string>> ask_anything(std::string action, domain::SandboxId id, nlohmann::json payload,
                                                   std::chrono::milliseconds limit) = 0;
};

/// Sandboxes of a program that is run once for each action: docs/runtime-driver.md is its contract. The process must
/// ignore SIGPIPE.
[[nodiscard]] std::unique_ptr<DriverRuntime> create_external_runtime(asio::any_io_executor executor,
                                                                     ExternalSettings settings);

}  // namespace sandbox::runtime
