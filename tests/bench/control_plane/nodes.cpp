#include "nodes.hpp"

#include <stdexcept>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sandbox::bench {

using namespace std::chrono_literals;

namespace {

constexpr int kLeaseSeconds = 30;
constexpr std::size_t kRegisteringAtOnce = 8;
constexpr auto kCall = 60s;

domain::Completion report_of(const domain::Assignment& assignment) {
    const bool deletes = std::holds_alternative<domain::DeleteWork>(assignment.kind);
    domain::Completion report{
        .assignment_id = assignment.id,
        .operation_id = assignment.operation_id,
        .sandbox_id = assignment.sandbox_id,
        .success = true,
        .sandbox_state = deletes ? domain::SandboxState::stopped : domain::SandboxState::running,
        .output = std::nullopt,
        .error = std::nullopt,
        .attempt = assignment.attempt,
        .startup = std::nullopt,
    };
    if (std::holds_alternative<domain::ExecWork>(assignment.kind)) report.output.emplace();
    return report;
}

}  // namespace

Nodes::Nodes(asio::any_io_executor executor, const Settings& settings, const std::vector<http::Url>& controllers,
             Journal& journal)
    : executor_(executor), settings_(settings), journal_(journal), tasks_(executor) {
    const auto connect = [&](const http::Url& url) {
        clients_.push_back(std::make_unique<client::WorkerClient>(
            executor_, client::Settings{.server = url, .token = {}, .ca_file = {}}));
        return clients_.back().get();
    };
    for (int i = 0; i < settings_.workers; ++i) {
        const auto controller = static_cast<std::size_t>(i) % controllers.size();
        add(controller, connect(controllers[controller]), true);
    }
    // Those that only heartbeat share a few connections.
    std::vector<client::WorkerClient*> shared;
    for (const auto& url : controllers) shared.push_back(connect(url));
    for (int i = 0; i < settings_.idle_nodes; ++i) {
        const auto controller = static_cast<std::size_t>(i) % controllers.size();
        add(controller, shared[controller], false);
    }
}

void Nodes::add(std::size_t controller, client::WorkerClient* client, bool leases) {
    nodes_.push_back({.id = domain::NodeId::make(wall_time(), random_),
                      .controller = controller,
                      .client = client,
                      .leases = leases});
}

Task<void> Nodes::start() {
    for (std::size_t lane = 0; lane < kRegisteringAtOnce; ++lane)
        tasks_.spawn("register", register_some(lane, kRegisteringAtOnce));
    while (registered_ < nodes_.size() && refusal_.empty()) {
        if (!co_await registering_.wait(in(120s))) refusal_ = "no answer";
    }
    if (!refusal_.empty()) throw std::runtime_error("a node was not registered: " + refusal_);
    const std::chrono::seconds interval(settings_.heartbeat_seconds);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        // Spread over the interval, as those of real nodes are.
        const auto first = Steady::duration(interval) * (i + 1) / nodes_.size();
        tasks_.spawn("heartbeat", heartbeat(nodes_[i], first));
        if (nodes_[i].leases) tasks_.spawn("lease", lease(nodes_[i]));
    }
}

Task<void> Nodes::stop() {
    stopping_ = true;
    tasks_.cancel();
    if (!co_await tasks_.join(in(30s))) throw std::runtime_error("the simulated workers do not end");
}

Task<void> Nodes::register_some(std::size_t first, std::size_t step) {
    for (auto i = first; i < nodes_.size(); i += step) co_await register_one(nodes_[i]);
}

Task<void> Nodes::register_one(const Node& node) {
    domain::Node about;
    about.id = node.id;
    about.name = "bench-" + node.id.text();
    about.region = "local";
    about.zone = "local-a";
    about.capacity = capacity(node);
    about.supported_tiers = {domain::Tier::container};
    about.last_seen = wall_time();
    about.incarnation = domain::Incarnation::make(wall_time(), random_);
    about.features = {"stdin", "cancel", "inventory", "disk_limit"};
    auto answer = co_await node.client->register_node(about, in(kCall));
    if (!answer) refusal_ = answer.error().error.message();
    ++registered_;
    registering_.notify_all();
}

domain::Capacity Nodes::capacity(const Node& node) const {
    const std::int64_t room = node.leases ? settings_.room() : 100;
    const domain::Resources total{
        .cpu_millis = 100 * room, .memory_mib = 64 * room, .disk_mib = 64 * room, .pids = 16 * room};
    return {.total = total,
            .available = node.leases ? total : domain::Resources{0, 0, 0, 0},
            .max_sandboxes = 0,
            .running_sandboxes = 0};
}

Task<void> Nodes::lease(const Node& node) {
    while (!stopping_) {
        const auto asked = wall_time();
        auto answer = co_await node.client->lease(node.id, settings_.lease_limit, kLeaseSeconds, in(kCall));
        if (stopping_) co_return;
        if (!answer) {
            journal_.failed("lease", answer.error());
            co_await pause(100ms);
            continue;
        }
        for (const auto& assignment : answer->assignments) journal_.leased(assignment, asked, node.controller);
        if (!answer->assignments.empty()) tasks_.spawn("complete", complete(node, std::move(answer->assignments)));
    }
}

Task<void> Nodes::complete(const Node& node, std::vector<domain::Assignment> assignments) {
    for (const auto& assignment : assignments) {
        auto taken = co_await node.client->complete(report_of(assignment), in(kCall));
        if (stopping_) co_return;
        if (taken)
            journal_.completed(assignment);
        else
            journal_.failed("complete", taken.error());
    }
}

Task<void> Nodes::heartbeat(const Node& node, Steady::duration first) {
    co_await pause(first);
    while (!stopping_) {
        const domain::Heartbeat report{.capacity = capacity(node),
                                       .pressure = 0,
                                       .warm_images = {},
                                       .in_flight = std::vector<domain::InFlight>{},
                                       .inventory = std::nullopt};
        auto answer = co_await node.client->heartbeat(node.id, report, in(kCall));
        if (stopping_) co_return;
        if (!answer) journal_.failed("heartbeat", answer.error());
        co_await pause(std::chrono::seconds(settings_.heartbeat_seconds));
    }
}

Task<void> Nodes::pause(Steady::duration time) {
    asio::steady_timer timer(executor_, time);
    co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace sandbox::bench
