// The links to the guests of running containers: made at a create, found again after a restart, and watched.
#include <chrono>
#include <set>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/base/log.hpp>

#include "docker/attached_stream.hpp"
#include "docker/docker_runtime.hpp"
#include "docker/names.hpp"

namespace sandbox::runtime::docker {

using namespace std::chrono_literals;

namespace {

constexpr auto kCallTime = 30s;

std::string how_it_ended(const Container& container) {
    // Nothing inside can kill PID 1.
    auto text = container.exit_code == kKilledExitCode && !container.oom_killed
                    ? std::string("the sandbox was killed or removed from outside")
                    : fmt::format("the sandbox has ended by itself: exit status {}", container.exit_code);
    if (container.oom_killed) text += ", out of memory";
    if (!container.error.empty()) text += ", " + container.error;
    return text;
}

}  // namespace

std::shared_ptr<DockerRuntime::Held> DockerRuntime::hold(domain::SandboxId id, std::string container,
                                                         bool is_starting) {
    auto starting = std::make_shared<bool>(is_starting);
    GuestLink::Settings settings;
    settings.attach = [this, id, container, starting](Deadline deadline) {
        return attach(id, container, starting, deadline);
    };
    settings.on_change = [this, id] { on_link_change(id); };
    auto held = std::make_shared<Held>();
    held->container = std::move(container);
    held->link = std::make_shared<GuestLink>(std::move(settings), random_);
    held_[id] = held;
    tasks_.spawn("guest " + id.text(), held->link->run());
    return held;
}

Task<Result<std::unique_ptr<http::Stream>>> DockerRuntime::attach(domain::SandboxId id, std::string container,
                                                                  std::shared_ptr<bool> is_starting,
                                                                  Deadline deadline) {
    // A container that is just starting is attached to at once; the engine answers when it runs.
    if (!std::exchange(*is_starting, false)) {
        auto present = co_await engine_.inspect_container(container, deadline);
        if (!present && present.error().code() == Code::not_found)
            co_return fail(Code::not_found, "the sandbox's container was removed");
        if (!present) co_return fail(std::move(present.error()));
        if (present->state == "created")
            co_return fail(Code::unavailable, "the sandbox's container is not started yet");
        if (!present->running()) co_return fail(Code::not_found, how_it_ended(*present));
    }
    auto stream = co_await engine_.attach(container, deadline);
    if (!stream) {
        // Only an inspection may tell that it is gone.
        auto code = stream.error().code() == Code::not_found ? Code::unavailable : stream.error().code();
        co_return fail(code, stream.error().message());
    }
    co_return unframed(std::move(*stream), id.text());
}

void DockerRuntime::on_link_change(domain::SandboxId id) {
    auto known = held_.find(id);
    if (known != held_.end() && known->second->link->is_hostile()) {
        auto kill = [](Engine& engine, std::string container) -> Task<void> {
            (void)co_await engine.kill_container(container, in(kCallTime));
        };
        tasks_.spawn("kill " + id.text(), kill(engine_, known->second->container));
    }
    if (on_change) on_change();
}

Task<Result<std::vector<Container>>> DockerRuntime::containers_of_node(Deadline deadline) {
    co_return co_await engine_.list_containers(fmt::format("{}={}", kNodeLabel, settings_.node_id.text()), deadline);
}

Task<Result<void>> DockerRuntime::recover(Deadline deadline) {
    auto containers = co_await containers_of_node(deadline);
    if (!containers) co_return fail(std::move(containers.error()));
    if (std::exchange(recovered_, true)) co_return Result<void>{};  // by another call meanwhile
    for (const auto& container : *containers) {
        auto id = domain::SandboxId::parse(container.label(kIdLabel));
        if (id && container.running() && !held_.contains(*id)) hold(*id, container.id, false);
    }
    tasks_.spawn("engine events", watch());
    auto cleaned = co_await remove_leftovers(*containers, deadline);
    if (!cleaned) log::warn("leftovers of a former run are still there", {{"error", cleaned.error().message()}});
    co_return Result<void>{};
}

/// What creates that never came to an end have left: containers that were never started, ones that only fill a
/// volume, and workspaces without a container.
Task<Result<void>> DockerRuntime::remove_leftovers(const std::vector<Container>& containers, Deadline deadline) {
    std::set<std::string> present;
    for (const auto& container : containers) {
        auto id = domain::SandboxId::parse(container.label(kIdLabel));
        bool only_fills = container.label(kRoleLabel) == kFillRole;
        if (container.state == "created" && ((id && !creations_.contains(*id)) || only_fills)) {
            auto removed = co_await engine_.remove_container(container.id, deadline);
            if (!removed && removed.error().code() != Code::not_found) co_return removed;
        } else {
            present.insert(container.label(kIdLabel));
        }
    }
    auto volumes = co_await engine_.list_volumes(fmt::format("{}={}", kNodeLabel, settings_.node_id.text()), deadline);
    if (!volumes) co_return fail(std::move(volumes.error()));
    for (const auto& volume : *volumes) {
        auto label = volume.labels.find(std::string(kIdLabel));
        auto id = label == volume.labels.end() ? std::nullopt : domain::SandboxId::parse(label->second);
        if (!id || present.contains(id->text()) || creations_.contains(*id) || held_.contains(*id)) continue;
        auto removed = co_await workspaces_.remove(*id, deadline);
        if (!removed) co_return removed;
    }
    // Disk images whose volume never came to be.
    for (const auto& id : workspaces_.disk_images()) {
        if (present.contains(id.text()) || creations_.contains(id) || held_.contains(id)) continue;
        auto removed = co_await workspaces_.remove(id, deadline);
        if (!removed) co_return removed;
    }
    co_return Result<void>{};
}

Task<void> DockerRuntime::watch() {
    bool lost = false;
    for (;;) {
        if (!lost) {
            auto ended = co_await engine_.watch_containers([this](const EngineEvent& event) { on_event(event); },
                                                           Deadline::max());
            if (!ended && ended.error().code() == Code::cancelled) co_return;
            log::warn("the engine's events ended", {{"error", ended ? "" : ended.error().message()}});
            lost = true;
        }
        asio::steady_timer timer(co_await asio::this_coro::executor, 1s);
        co_await timer.async_wait(asio::use_awaitable);
        auto version = co_await engine_.negotiate(in(kCallTime));
        if (!version) continue;
        log::info("the engine answers again", {{"version", version->version}});
        lost = false;
        co_await on_engine_back();
    }
}

/// An engine that was away may have been restarted, and have let go of what it held.
Task<void> DockerRuntime::on_engine_back() {
    const auto deadline = in(kCallTime);
    auto containers = co_await containers_of_node(deadline);
    if (containers) (void)co_await remove_leftovers(*containers, deadline);
    if (on_change) on_change();
}

void DockerRuntime::on_event(const EngineEvent& event) {
    auto label = event.attributes.find(std::string(kIdLabel));
    auto id = label == event.attributes.end() ? std::nullopt : domain::SandboxId::parse(label->second);
    auto known = id ? held_.find(*id) : held_.end();
    if (known == held_.end() || known->second->container != event.container) return;
    if (event.action == "oom") ++known->second->oom_events;
    if (event.action == "kill") known->second->killed_outside = true;
    if ((event.action == "die" || event.action == "destroy") && on_change) on_change();
}

}  // namespace sandbox::runtime::docker
