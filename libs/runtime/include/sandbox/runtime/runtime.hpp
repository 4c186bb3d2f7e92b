#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/node.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/spec.hpp>
#include <sandbox/http/stream.hpp>

namespace sandbox::runtime {

/// What a runtime can do here, found out at start and looked at again when the engine comes back.
struct Capabilities {
    domain::RuntimeInfo info;
    std::vector<domain::Tier> tiers;
    std::vector<std::string> features;  // stdin, cancel, inventory, disk_limit, network_guard, …
    bool supports_http_tunnels = false;
    bool concurrent_exec = false;
    /// For the table that is logged at start: what was looked at, whether it holds, and what that turns off.
    struct Check {
        std::string what;
        bool ok = false;
        std::string note;
    };
    std::vector<Check> checks;
};

/// What an exec left, before anything is decided about success: the output, and a sentence when it was not a plain
/// exit.
struct ExecResult {
    domain::Output output;
    std::optional<std::string> error;  // of 126, 127, oom, out of pids, cancelled, time limit
};

/// Told what a create is doing: "pulling image", "creating", "starting".
using PhaseSink = std::function<void(std::string_view phase)>;

/// What a node's host and engine look like now, for the heartbeat.
struct HostStatus {
    float pressure = 0;
    std::vector<std::string> warm_images;
};

/// Drives one kind of isolation on this host: Docker, or an external driver. Everything is safe to repeat. Calls for
/// different sandboxes, and several execs of one, run side by side. Lives on the io thread.
/// Errors are bounded sentences that an operator can act on; unavailable when the engine does not answer.
class Runtime {
public:
    virtual ~Runtime() = default;

    virtual Task<Result<Capabilities>> probe(Deadline deadline) = 0;
    virtual Task<Result<HostStatus>> status(Deadline deadline) = 0;

    /// Returns when the sandbox can run commands (and its start-up command, if any, has been started). What a failed
    /// create leaves is removed before the error comes back. Doing it again for a sandbox that is there is no error.
    virtual Task<Result<void>> create(domain::SandboxId id, const domain::SandboxSpec& spec, domain::Tier tier,
                                      PhaseSink phase) = 0;

    /// Runs one command to its end, its time limit, or cancel(). Errors only when it could not be run at all or its
    /// end is not known; a command that fails is a result.
    virtual Task<Result<ExecResult>> exec(domain::SandboxId id, domain::OperationId operation,
                                          const domain::Command& command, std::size_t max_output_bytes) = 0;
    /// Kills the exec's whole process tree; its exec() then returns soon. Nothing when it is not running.
    virtual Task<Result<void>> cancel(domain::SandboxId id, domain::OperationId operation) = 0;

    /// Kills and removes the sandbox with all that belongs to it; nothing is no error. Also while its create() is under
    /// way, which then returns `cancelled` soon, whatever it waits for (a pull, say), and leaves nothing either.
    virtual Task<Result<void>> destroy(domain::SandboxId id) = 0;
    /// Everything here that carries this installation's labels.
    virtual Task<Result<std::vector<domain::InventoryItem>>> list(Deadline deadline) = 0;

    /// Connects to a port on the sandbox's own loopback, whatever its network. Errors: unavailable with the reason.
    virtual Task<Result<std::unique_ptr<http::Stream>>> dial(domain::SandboxId id, std::uint16_t port,
                                                             Deadline deadline);

    /// Ends what the runtime does by itself, waiting for it until the deadline; the sandboxes live on. To be awaited
    /// before it is destroyed while the io thread still runs.
    virtual Task<void> stop(Deadline deadline);

    /// Called (on the io thread) when a sandbox ended by itself or the engine came back, so that a heartbeat goes out
    /// at once. May be empty.
    std::function<void()> on_change;
    /// Called (on the io thread) when probe() would answer otherwise than it last did, so that the node says anew what
    /// it offers. May be empty.
    std::function<void()> on_capabilities_change;
};

}  // namespace sandbox::runtime
