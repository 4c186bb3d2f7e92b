#include <utility>

#include <sandbox/async/clock.hpp>

#include "host.hpp"
#include "node_id.hpp"
#include "worker.hpp"

namespace sandbox::sandboxd {

Result<WorkerSettings> WorkerSettings::from(const config::Config& config) {
    const auto& node = config.node;
    WorkerSettings settings;
    SystemRandom random;
    auto id = load_or_make_node_id(node.state_dir, async::SystemClock().now(), random);
    if (!id) return fail(std::move(id).error());
    settings.node_id = *id;
    settings.name = node.name;
    settings.region = node.region;
    settings.zone = node.zone;
    settings.labels = node.labels;
    auto resources = node.resources ? Result<domain::Resources>(*node.resources) : host_resources(node.state_dir);
    if (!resources) return fail(std::move(resources).error());
    settings.resources = *resources;
    settings.max_sandboxes = node.max_sandboxes;
    settings.concurrency = static_cast<std::size_t>(node.concurrency);
    settings.max_output_bytes = static_cast<std::size_t>(config.policy.max_output_bytes);
    settings.state_dir = node.state_dir;
    return settings;
}

}  // namespace sandbox::sandboxd
