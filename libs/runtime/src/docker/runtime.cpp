#include <algorithm>
#include <chrono>
#include <sys/utsname.h>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/async/offload.hpp>

#include "docker/container_policy.hpp"
#include "docker/docker_runtime.hpp"
#include "docker/names.hpp"
#include "host_status.hpp"

namespace sandbox::runtime::docker {

using namespace std::chrono_literals;

namespace {

constexpr auto kCallTime = 30s;
constexpr auto kRemoveTime = 60s;

}  // namespace

DockerRuntime::DockerRuntime(asio::any_io_executor executor, DockerSettings settings)
    : settings_(std::move(settings)),
      engine_(executor, settings_.engine),
      networks_(engine_, settings_.restricted_network),
      network_guard_(pool_),
      guest_(engine_, settings_.guest_path, settings_.node_id),
      disks_(settings_.state_dir + "/disks", pool_),
      workspaces_(engine_, disks_),
      tasks_(executor) {
    networks_.on_found = [this](domain::Network network, Network found) { return guard(network, std::move(found)); };
}

DockerRuntime::~DockerRuntime() = default;

Task<void> DockerRuntime::stop(Deadline deadline) {
    tasks_.cancel();
    co_await tasks_.join(deadline);
}

Task<Result<void>> DockerRuntime::ready(Deadline deadline) {
    if (recovered_) co_return Result<void>{};
    auto version = co_await engine_.negotiate(deadline);
    if (!version) co_return fail(std::move(version.error()));
    auto info = co_await engine_.info(deadline);
    if (!info) co_return fail(std::move(info.error()));
    info_ = std::move(*info);
    if (checks_.empty()) co_await check_host();
    co_return co_await recover(deadline);
}

/// Whether devices and interfaces of this host are the engine's own too.
bool DockerRuntime::shares_host_with_engine() const {
    utsname name{};
    return settings_.engine.scheme == http::Url::Scheme::unix_socket && ::uname(&name) == 0 &&
           info_.kernel == name.release && !info_.rootless;
}

Task<void> DockerRuntime::check_host() {
    Result<void> disks = fail(Code::unavailable, "the engine runs on another host, or rootless");
    Result<void> networks = disks;
    if (shares_host_with_engine()) {
        auto check = [directory = settings_.state_dir + "/disks"] { return DiskImages::check(directory); };
        disks = co_await async::offload(pool_, std::move(check));
        auto check_networks = [] { return NetworkGuard::check(); };
        networks = co_await async::offload(pool_, std::move(check_networks));
    }
    if (!checks_.empty()) co_return;  // by another call meanwhile
    limits_disks_ = disks.has_value();
    workspaces_.limit_disks(limits_disks_);
    checks_.push_back({.what = "disk_limit",
                       .ok = limits_disks_,
                       .note = disks ? "loop devices can be attached" : disks.error().message()});
    guards_networks_ = networks.has_value();
    checks_.push_back({.what = "network_guard",
                       .ok = guards_networks_,
                       .note = networks ? "nftables can be used" : networks.error().message()});
}

Task<Result<void>> DockerRuntime::guard(domain::Network network, Network found) {
    if (!guards_networks_) co_return Result<void>{};
    co_return co_await network_guard_.guard(network, std::move(found.bridge), std::move(found.gateway),
                                            settings_.restricted_allow);
}

Task<Result<Capabilities>> DockerRuntime::probe(Deadline deadline) {
    auto version = co_await engine_.negotiate(deadline);
    if (!version) co_return fail(std::move(version.error()));
    auto is_ready = co_await ready(deadline);
    if (!is_ready) co_return fail(std::move(is_ready.error()));
    if (settings_.oci_runtime && std::ranges::find(info_.runtimes, *settings_.oci_runtime) == info_.runtimes.end())
        co_return fail(Code::unavailable, fmt::format("the engine knows no OCI runtime named {}: set it up there, or "
                                                      "change node.docker_runtime",
                                                      *settings_.oci_runtime));
    Capabilities capabilities;
    capabilities.info = {.name = "docker", .version = version->version};
    capabilities.tiers = settings_.tiers;
    capabilities.features = {"stdin", "cancel", "inventory"};
    capabilities.supports_http_tunnels = true;
    capabilities.concurrent_exec = true;
    capabilities.checks.push_back(
        {.what = "engine", .ok = true, .note = fmt::format("{}, API {}", version->version, version->api)});
    if (limits_disks_) capabilities.features.emplace_back("disk_limit");
    if (guards_networks_) capabilities.features.emplace_back("network_guard");
    capabilities.checks.insert(capabilities.checks.end(), checks_.begin(), checks_.end());
    auto guest = guest_.check();
    capabilities.checks.push_back(
        {.what = "guest", .ok = guest.has_value(), .note = guest ? settings_.guest_path : guest.error().message()});
    co_return capabilities;
}

Task<Result<HostStatus>> DockerRuntime::status(Deadline deadline) {
    auto is_ready = co_await ready(deadline);
    if (!is_ready) co_return fail(std::move(is_ready.error()));
    auto images = co_await engine_.list_images(deadline);
    if (!images) co_return fail(std::move(images.error()));
    // They are for placement only; a host with more of them than this has the common ones among the first.
    constexpr std::size_t kMostImages = 500;
    if (images->size() > kMostImages) images->resize(kMostImages);
    co_return HostStatus{.pressure = host_pressure(), .warm_images = std::move(*images)};
}

Task<Result<std::shared_ptr<DockerRuntime::Held>>> DockerRuntime::find(domain::SandboxId id) {
    if (auto known = held_.find(id); known != held_.end()) co_return known->second;
    auto is_ready = co_await ready(in(kCallTime));
    if (!is_ready) co_return fail(std::move(is_ready.error()));
    auto container = co_await engine_.inspect_container(container_name(id), in(kCallTime));
    if (auto known = held_.find(id); known != held_.end()) co_return known->second;
    if (!container && container.error().code() == Code::not_found)
        co_return fail(Code::not_found, fmt::format("sandbox {} is not on this node", id.text()));
    if (!container) co_return fail(std::move(container.error()));
    if (container->label(kIdLabel) != id.text()) co_return fail(not_ours("container", container->name, id));
    if (!container->running()) co_return fail(Code::unavailable, fmt::format("sandbox {} has ended", id.text()));
    if (!is_ours(*container))
        co_return fail(Code::conflict, fmt::format("sandbox {} was made by another worker, which alone can run "
                                                   "commands in it",
                                                   id.text()));
    co_return hold(id, container->id, false);
}

bool DockerRuntime::is_ours(const Container& container) const {
    return container.label(kNodeLabel) == settings_.node_id.text();
}

Task<Result<ExecResult>> DockerRuntime::exec(domain::SandboxId id, domain::OperationId operation,
                                             const domain::Command& command, std::size_t max_output_bytes) {
    auto held = co_await find(id);
    if (!held) co_return fail(std::move(held.error()));
    const auto ooms = (*held)->oom_events;
    auto result = co_await (*held)->link->exec(operation, command, max_output_bytes);
    const auto& hello = (*held)->link->hello();
    if (result && hello && !hello->sees_oom_kills && (*held)->oom_events != ooms) result->output.oom_killed = true;
    co_return result;
}

Task<Result<void>> DockerRuntime::cancel(domain::SandboxId id, domain::OperationId operation) {
    if (auto known = held_.find(id); known != held_.end()) known->second->link->cancel(operation);
    co_return Result<void>{};
}

Task<Result<std::unique_ptr<http::Stream>>> DockerRuntime::dial(domain::SandboxId id, std::uint16_t port,
                                                                Deadline deadline) {
    auto held = co_await find(id);
    if (!held) co_return fail(std::move(held.error()));
    co_return co_await (*held)->link->dial(port, deadline);
}

Task<Result<void>> DockerRuntime::destroy(domain::SandboxId id) {
    const auto deadline = in(kRemoveTime);
    for (auto creating = creations_.find(id); creating != creations_.end(); creating = creations_.find(id)) {
        creating->second->cancel();
        if (!co_await creation_ended_.wait(deadline))
            co_return fail(Code::deadline_exceeded, "the sandbox's create did not end in time");
    }
    auto is_ready = co_await ready(in(kCallTime));
    if (!is_ready) co_return fail(std::move(is_ready.error()));
    co_return co_await remove(id);
}

Task<Result<void>> DockerRuntime::remove(domain::SandboxId id) {
    const auto deadline = in(kRemoveTime);
    // One that can't go is no reason to keep the other.
    auto container = co_await remove_container(id, deadline);
    auto workspace = co_await workspaces_.remove(id, deadline);
    co_return container ? workspace : container;
}

Task<Result<void>> DockerRuntime::remove_container(domain::SandboxId id, Deadline deadline) {
    std::string container;
    if (auto known = held_.find(id); known != held_.end()) {
        container = known->second->container;
        known->second->link->close(Error(Code::cancelled, "the sandbox was deleted"));
        held_.erase(known);
    }
    for (;;) {
        if (container.empty()) {
            auto found = co_await engine_.inspect_container(container_name(id), deadline);
            if (!found && found.error().code() == Code::not_found) co_return Result<void>{};
            if (!found) co_return fail(std::move(found.error()));
            if (found->label(kIdLabel) != id.text()) co_return fail(not_ours("container", found->name, id));
            container = found->id;
        }
        auto removed = co_await engine_.remove_container(container, deadline);
        if (removed || removed.error().code() == Code::not_found) co_return Result<void>{};
        // Somebody else's removal of it is under way: its end is waited for.
        if (removed.error().code() != Code::conflict || in(100ms) > deadline) co_return removed;
        container.clear();
        asio::steady_timer timer(co_await asio::this_coro::executor, 100ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

Task<Result<std::vector<domain::InventoryItem>>> DockerRuntime::list(Deadline deadline) {
    auto is_ready = co_await ready(deadline);
    if (!is_ready) co_return fail(std::move(is_ready.error()));
    auto containers = co_await engine_.list_containers(kIdLabel, deadline);
    if (!containers) co_return fail(std::move(containers.error()));
    std::vector<domain::InventoryItem> items;
    for (auto& container : *containers) {
        auto id = domain::SandboxId::parse(container.label(kIdLabel));
        // Those of another worker of this engine are not ours to tell; older workers set no label of theirs.
        if (!id || (!is_ours(container) && !container.label(kNodeLabel).empty())) continue;
        if (creations_.contains(*id) || container.name != container_name(*id)) continue;
        auto item = co_await inventory_item(*id, std::move(container), deadline);
        if (item) items.push_back(std::move(*item));
        // One that has gone meanwhile is simply not there any more.
        else if (item.error().code() != Code::not_found)
            co_return fail(std::move(item.error()));
    }
    co_return items;
}

Task<Result<domain::InventoryItem>> DockerRuntime::inventory_item(domain::SandboxId id, Container container,
                                                                  Deadline deadline) {
    domain::InventoryItem item;
    item.sandbox_id = id;
    item.running = container.running();
    item.resources = parse_resources(container.label(kResourcesLabel));
    bool killed_outside = false;
    if (auto known = held_.find(id); known != held_.end()) {
        item.startup = known->second->link->startup();
        killed_outside = known->second->killed_outside;
    }
    if (!item.running) {
        auto ended = co_await engine_.inspect_container(container.id, deadline);
        if (!ended) co_return fail(std::move(ended.error()));
        item.exit_code = ended->exit_code;
        // The engine's flag stays set after any command that the limit once killed.
        item.oom_killed = ended->oom_killed && !killed_outside;
    }
    co_return item;
}

}  // namespace sandbox::runtime::docker

namespace sandbox::runtime {

std::unique_ptr<Runtime> create_docker_runtime(asio::any_io_executor executor, DockerSettings settings) {
    return std::make_unique<docker::DockerRuntime>(std::move(executor), std::move(settings));
}

}  // namespace sandbox::runtime
