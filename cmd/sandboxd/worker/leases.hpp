#pragma once

#include <functional>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/client/client.hpp>
#include <sandbox/domain/ids.hpp>

#include "sandbox_queue.hpp"

namespace sandbox::sandboxd {

/// Fetches work by one long poll after another. Lives on the io thread; what it is given must outlive it.
class Leases {
public:
    Leases(domain::NodeId node, client::WorkerClient& client, SandboxQueue& queue, Random& random);

    /// Called when the controller does not know the node. May be empty.
    std::function<void()> on_unknown_node;

    /// Until it is cancelled.
    Task<void> run();
    /// Hands leases back that were not begun. A controller that does not answer gets them back when they run out.
    Task<void> hand_back(std::vector<domain::AssignmentId> ids, Deadline deadline);

private:
    /// Puts the answer's work in the queue; false when there was nothing new in it.
    Task<bool> take(api::LeaseAnswer answer);
    Task<void> pause(std::chrono::milliseconds time);

    domain::NodeId node_;
    client::WorkerClient& client_;
    SandboxQueue& queue_;
    Random& random_;
    bool can_hand_back_ = true;  // an older controller can't take leases back
    async::Signal never_;
};

}  // namespace sandbox::sandboxd
