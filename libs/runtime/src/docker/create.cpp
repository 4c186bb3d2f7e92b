// How a sandbox comes to be: the parts side by side, then the container, its start, and the guest's first answer.
#include <chrono>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/log.hpp>

#include "docker/container_policy.hpp"
#include "docker/docker_runtime.hpp"
#include "docker/exec_once.hpp"
#include "docker/images.hpp"
#include "docker/names.hpp"

namespace sandbox::runtime::docker {

using namespace std::chrono_literals;

namespace {

constexpr auto kCallTime = 30s;
/// For a start on a busy host: the engine takes 0.3 s on an idle one.
constexpr auto kStartTime = 100s;
constexpr auto kGuestTime = 30s;

/// A create's entry in the table of those under way; gone with it, however it ends.
struct Registration {
    using Table = std::map<domain::SandboxId, std::shared_ptr<Creation>>;
    Registration(Table& of_table, async::Signal& of_ended, domain::SandboxId of_id, std::shared_ptr<Creation> creation)
        : table(of_table), ended(of_ended), id(of_id) {
        table[id] = std::move(creation);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() {
        table.erase(id);
        ended.notify_all();
    }
    Table& table;
    async::Signal& ended;
    domain::SandboxId id;
};

/// Whether a failed start may be due to something shared that was removed behind our back.
bool may_lack_shared_part(const Error& error) {
    return error.message().find(kGuestProgram) != std::string::npos ||
           error.message().find("network") != std::string::npos;
}

}  // namespace

/// What a container is put together from.
struct DockerRuntime::Parts {
    Image image;
    std::string network;
    Workspace workspace;
    std::string guest;
};

Task<Result<void>> DockerRuntime::create(domain::SandboxId id, const domain::SandboxSpec& spec, domain::Tier tier,
                                         PhaseSink phase) {
    if (std::ranges::find(settings_.tiers, tier) == settings_.tiers.end())
        co_return fail(Code::invalid_argument,
                       fmt::format("this worker does not isolate as {}", domain::to_text(tier)));
    if (creations_.contains(id)) co_return fail(Code::conflict, "the sandbox is being created already");
    // Before anything is waited for: a delete that comes now must find it.
    auto creation = std::make_shared<Creation>();
    Registration registration(creations_, creation_ended_, id, creation);
    auto is_ready = co_await ready(in(kCallTime));
    if (!is_ready) co_return fail(std::move(is_ready.error()));
    if (auto wanted = creation->check(); !wanted) co_return wanted;

    auto made = co_await make(id, spec, creation, std::move(phase));
    if (made && !creation->cancelled) co_return made;
    auto error = creation->cancelled ? creation->check().error() : std::move(made.error());
    // What is not ours stays; the error says so already.
    auto removed = co_await remove(id);
    if (!removed && removed.error().code() != Code::conflict)
        log::warn("the remains of a failed create are still there",
                  {{"sandbox_id", id.text()}, {"error", removed.error().message()}});
    co_return fail(std::move(error));
}

Task<Result<void>> DockerRuntime::make(domain::SandboxId id, const domain::SandboxSpec& spec,
                                       std::shared_ptr<Creation> creation, PhaseSink phase) {
    if (held_.contains(id)) {
        auto running = co_await is_running(id);
        if (!running) co_return fail(std::move(running.error()));
        if (auto known = held_.find(id); *running && known != held_.end()) {
            auto held = known->second;
            co_return co_await prepare(*held, spec);
        }
    }
    if (phase) phase("creating");
    Result<void> up;
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto parts = co_await gather(id, spec, creation, phase);
        if (!parts) co_return fail(std::move(parts.error()));
        up = co_await bring_up(id, spec, *parts, *creation, phase);
        if (up || creation->cancelled || !may_lack_shared_part(up.error())) break;
        guest_.forget();
        networks_.forget();
        auto removed = co_await remove_container(id, in(kCallTime));
        if (!removed) break;
    }
    co_return up;
}

Task<Result<DockerRuntime::Parts>> DockerRuntime::gather(domain::SandboxId id, const domain::SandboxSpec& spec,
                                                         std::shared_ptr<Creation> creation, PhaseSink phase) {
    using asio::experimental::awaitable_operators::operator&&;
    const auto deadline = in(kCallTime);
    auto labels = sandbox_labels(id, spec.tenant, settings_.node_id);
    auto [image, network, workspace] = co_await (
        provide_image(engine_, spec.image, settings_.image_pull_timeout, creation, std::move(phase), deadline) &&
        networks_.provide(spec.network, deadline) &&
        workspaces_.make(id, std::move(labels), spec.resources.disk_mib, deadline));
    if (auto wanted = creation->check(); !wanted) co_return fail(std::move(wanted.error()));
    if (!image) co_return fail(std::move(image.error()));
    if (!network) co_return fail(std::move(network.error()));
    if (!workspace) co_return fail(std::move(workspace.error()));
    auto guest = co_await guest_.provide(spec.image, in(kCallTime));
    if (!guest) co_return fail(std::move(guest.error()));
    co_return Parts{.image = std::move(*image),
                    .network = std::move(*network),
                    .workspace = std::move(*workspace),
                    .guest = std::move(*guest)};
}

Task<Result<void>> DockerRuntime::bring_up(domain::SandboxId id, const domain::SandboxSpec& spec, const Parts& parts,
                                           const Creation& creation, const PhaseSink& phase) {
    auto container = co_await create_container(id, spec, parts);
    if (!container) co_return fail(std::move(container.error()));
    if (auto wanted = creation.check(); !wanted) co_return wanted;
    if (phase) phase("starting");
    auto held = hold(id, *container, true);
    auto started = co_await engine_.start_container(*container, in(kStartTime));
    if (!started) co_return started;
    if (auto wanted = creation.check(); !wanted) co_return wanted;
    co_return co_await prepare(*held, spec);
}

Task<Result<std::string>> DockerRuntime::create_container(domain::SandboxId id, const domain::SandboxSpec& spec,
                                                          const Parts& parts) {
    auto request = container_request(spec, {.id = id,
                                            .node = settings_.node_id,
                                            .guest_volume = parts.guest,
                                            .workspace_volume = parts.workspace.volume,
                                            .network = parts.network,
                                            .oci_runtime = settings_.oci_runtime,
                                            .host_cpus = info_.cpus,
                                            .image_user = parts.image.user,
                                            .image_volumes = parts.image.volumes});
    auto name = container_name(id);
    auto created = co_await engine_.create_container(name, request, in(kCallTime));
    if (created || created.error().code() != Code::conflict) co_return created;
    // The name is taken: by the remains of an earlier try, which go, or by somebody else.
    auto present = co_await engine_.inspect_container(name, in(kCallTime));
    if (!present && present.error().code() != Code::not_found) co_return fail(std::move(present.error()));
    if (present && present->label(kIdLabel) != id.text()) co_return fail(not_ours("container", name, id));
    auto removed = co_await remove_container(id, in(kCallTime));
    if (!removed) co_return fail(std::move(removed.error()));
    co_return co_await engine_.create_container(name, request, in(kCallTime));
}

/// From the guest's first answer to a sandbox that can be used.
Task<Result<void>> DockerRuntime::prepare(Held& held, const domain::SandboxSpec& spec) {
    auto link = held.link;
    auto container = held.container;
    auto open = co_await link->wait_open(in(kGuestTime));
    if (!open) co_return fail(std::move(open.error()).in("start the sandbox"));
    if (!link->hello()->workspace_writable) {
        // This process does not see the engine's files, so the guest's own program does it, as root without any
        // capability: the directory is root's.
        ExecRequest request{.argv = {std::string(kGuestProgram), "--prepare", std::string(kWorkspace)},
                            .env = {},
                            .cwd = "/",
                            .user = "0:0"};
        auto prepared = co_await exec_once(engine_, container, std::move(request), in(kCallTime));
        if (!prepared) co_return fail(std::move(prepared.error()).in("make the workspace writable"));
    }
    if (spec.command.empty()) co_return Result<void>{};
    co_return co_await link->start_command(spec.command, in(kCallTime));
}

Task<Result<bool>> DockerRuntime::is_running(domain::SandboxId id) {
    auto container = co_await engine_.inspect_container(container_name(id), in(kCallTime));
    if (!container && container.error().code() == Code::not_found) co_return false;
    if (!container) co_return fail(std::move(container.error()));
    co_return container->running();
}

}  // namespace sandbox::runtime::docker
