#pragma once

#include <chrono>
#include <functional>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/client/client.hpp>
#include <sandbox/domain/node.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "sandbox_queue.hpp"

namespace sandbox::sandboxd {

/// What never changes in a node's capacity.
struct CapacityLimits {
    domain::Resources total;
    std::int64_t max_sandboxes = 0;
    std::string state_dir;  // its free disk bounds what is available
};

/// Tells the controller how the node is, each interval and whenever something has changed, and does what the answer
/// asks for. Keeps going whatever the engine and the controller do. Lives on the io thread; what it is given must
/// outlive it.
class Heartbeat {
public:
    Heartbeat(domain::NodeId node, CapacityLimits limits, runtime::Runtime& runtime, client::WorkerClient& client,
              SandboxQueue& queue);

    /// Awaited when the controller does not know the node: a new database, or an older controller that has restarted.
    std::function<Task<void>()> on_unknown_node;
    /// Awaited when the engine answers again after it had not, or may have another way about it.
    std::function<Task<void>()> on_engine_back;

    /// Whether the runtime can tell what it holds; without, the heartbeats carry no inventory.
    void set_inventory(bool there) { has_inventory_ = there; }
    /// One more, at once, and on_engine_back after it.
    void look_again_soon() {
        engine_back_ = true;
        beat_soon(true);
    }

    void set_interval(std::chrono::milliseconds interval) { interval_ = interval; }

    /// Until it is cancelled.
    Task<void> run();
    /// One more, at once: with the inventory when a sandbox may have ended, without it when only a phase has changed.
    void beat_soon(bool with_inventory);
    /// Returns when the controller has answered a heartbeat that was made after this call, or has failed to.
    Task<void> beat_now();
    /// Returns when no heartbeat is on its way. What then gives capacity back can't be overtaken by a heartbeat that
    /// still counts it as used, which the controller would take for use by others.
    Task<void> between_beats();

    [[nodiscard]] domain::Capacity capacity() const;
    /// As last seen.
    [[nodiscard]] const runtime::HostStatus& status() const noexcept { return status_; }
    /// Looks at the host and the engine; what does not answer keeps its last value.
    Task<void> look(domain::Heartbeat& report);

private:
    enum class Request { none, phases, all };
    Task<void> beat(Request what);
    void note_controller(bool reached, const std::string& why);
    void note_engine(bool answers, const std::string& why);

    domain::NodeId node_;
    CapacityLimits limits_;
    runtime::Runtime& runtime_;
    client::WorkerClient& client_;
    SandboxQueue& queue_;
    std::chrono::milliseconds interval_{10'000};
    runtime::HostStatus status_;
    Request requested_ = Request::none;
    std::uint64_t begun_ = 0;  // heartbeats, to tell one that was made later
    std::uint64_t ended_ = 0;
    bool on_its_way_ = false;
    bool controller_reached_ = true;
    bool engine_answers_ = true;
    bool engine_back_ = false;
    bool has_inventory_ = true;
    async::Signal requests_;
    async::Signal beats_;
};

}  // namespace sandbox::sandboxd
