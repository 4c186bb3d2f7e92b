#include <array>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include <sandbox/async/clock.hpp>

#include "host.hpp"
#include "node_id.hpp"
#include "worker.hpp"

namespace sandbox::sandboxd {
namespace {

/// Beside this program, or where it is installed; the first of them when it is nowhere, for the runtime's message.
std::string find_guest() {
    std::error_code error;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    const std::array places{here / "sandbox-guest", here.parent_path() / "libexec/sandbox/sandbox-guest"};
    for (const auto& place : places)
        if (std::filesystem::exists(place, error)) return place;
    return places.front();
}

}  // namespace

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
    settings.guest_path = node.guest_path.value_or(find_guest());
    if (::access(settings.guest_path.c_str(), R_OK | X_OK) != 0 || std::filesystem::is_directory(settings.guest_path))
        return fail(Code::invalid_argument, "node.guest_path: there is no sandbox-guest program at " +
                                                settings.guest_path + "; install it beside sandboxd or name it");
    return settings;
}

}  // namespace sandbox::sandboxd
