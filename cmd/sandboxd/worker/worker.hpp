#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/clock.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/client/client.hpp>
#include <sandbox/config/config.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/spec.hpp>
#include <sandbox/runtime/runtime.hpp>

namespace sandbox::sandboxd {

struct WorkerSettings {
    domain::NodeId node_id;
    std::string name;
    std::string region;
    std::string zone;
    std::map<std::string, std::string> labels;
    domain::Resources resources;
    std::int64_t max_sandboxes = 100;
    std::size_t concurrency = 16;
    std::size_t max_output_bytes = 1048576;  // until the controller says otherwise
    std::string state_dir;

    /// With what the configuration leaves to the host: the node's id in the state directory, its resources, and where
    /// the guest program is. Blocks on the disk. Errors: those of load_or_make_node_id() and host_resources().
    [[nodiscard]] static Result<WorkerSettings> from(const config::Config& config);
};

/// One node's side of the control plane: registers, leases work, has the runtime do it, reports. Policy is none of its
/// business, and all it knows can be derived from what the runtime holds. Lives on the io thread; runtime, client,
/// clock and random must outlive it.
class Worker {
public:
    Worker(asio::any_io_executor executor, WorkerSettings settings, runtime::Runtime& runtime,
           client::WorkerClient& client, async::Clock& clock, Random& random);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Begins to work, through any absence of the engine or the controller, until stop(). Returns at once.
    void start();
    /// Stops leasing, hands back what has not begun, and leaves sandboxes alone. Returns when what is under way has
    /// been reported, or soon after the deadline. Must have been awaited before a started worker goes.
    Task<void> stop(Deadline deadline);

    /// Whether the controller knows this node (for start-up messages and tests).
    [[nodiscard]] bool registered() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sandbox::sandboxd
