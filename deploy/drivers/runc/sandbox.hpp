#pragma once

#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/spec.hpp>

#include "place.hpp"

/// The actions, one at a time in a process of its own; each meets whatever an earlier one that was killed has left.
namespace sandbox::driver_runc {

[[nodiscard]] Task<Result<void>> create(const Settings& settings, domain::SandboxId id, domain::SandboxSpec spec);

struct ExecRequest {
    domain::Command command;
    domain::OperationId operation;
    std::size_t max_output_bytes = 0;
};
/// SIGUSR1 (from cancel) and SIGTERM (from the worker) kill the command, whose end is then told as any other's.
/// The result has the form of the contract.
[[nodiscard]] Task<Result<nlohmann::json>> exec(const Settings& settings, domain::SandboxId id, ExecRequest request);

[[nodiscard]] Result<void> cancel(const Settings& settings, domain::SandboxId id, domain::OperationId operation);
[[nodiscard]] Result<void> remove(const Settings& settings, domain::SandboxId id);
/// Those that live. Removes what creates that were cut off have left.
[[nodiscard]] Result<std::vector<domain::SandboxId>> list(const Settings& settings);

}  // namespace sandbox::driver_runc
