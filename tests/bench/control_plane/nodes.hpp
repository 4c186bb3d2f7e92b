#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <sandbox/async/task_group.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/client/client.hpp>

#include "journal.hpp"
#include "settings.hpp"

namespace sandbox::bench {

/// The simulated nodes: each speaks to the controllers as a real worker does, and does what it is told in no time.
/// Lives on the io thread.
class Nodes {
public:
    Nodes(asio::any_io_executor executor, const Settings& settings, const std::vector<http::Url>& controllers,
          Journal& journal);

    /// Registers all and has them go to work. Throws when one is refused.
    Task<void> start();
    /// Ends their loops and waits for that.
    Task<void> stop();

private:
    struct Node {
        domain::NodeId id;
        std::size_t controller = 0;
        client::WorkerClient* client = nullptr;
        bool leases = false;
    };

    void add(std::size_t controller, client::WorkerClient* client, bool leases);
    Task<void> register_some(std::size_t first, std::size_t step);
    Task<void> register_one(const Node& node);
    Task<void> lease(const Node& node);
    Task<void> complete(const Node& node, std::vector<domain::Assignment> assignments);
    Task<void> heartbeat(const Node& node, Steady::duration first);
    [[nodiscard]] domain::Capacity capacity(const Node& node) const;
    Task<void> pause(Steady::duration time);

    asio::any_io_executor executor_;
    const Settings& settings_;
    Journal& journal_;
    SystemRandom random_;
    std::vector<std::unique_ptr<client::WorkerClient>> clients_;
    std::deque<Node> nodes_;
    async::TaskGroup tasks_;
    bool stopping_ = false;
    std::size_t registered_ = 0;
    async::Signal registering_;
    std::string refusal_;
};

}  // namespace sandbox::bench
