#include "docker/workspaces.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/base/log.hpp>

#include "docker/names.hpp"

namespace sandbox::runtime::docker {

namespace {

using namespace std::chrono_literals;

bool belongs_to(const Volume& volume, const domain::SandboxId& id) {
    auto label = volume.labels.find(std::string(kIdLabel));
    return label != volume.labels.end() && label->second == id.text();
}

/// Everybody may write there, like in /tmp: the image's user, whatever it is, among them. Does nothing where this
/// process does not see the engine's files; the guest then tells that the workspace can't be written.
void open_to_everybody(const std::string& mountpoint) {
    constexpr mode_t kMode = 01777;
    if (mountpoint.starts_with('/')) (void)::chmod(mountpoint.c_str(), kMode);
}

/// An engine that was restarted with containers alive (live-restore) counts the mount of such a volume for ever and
/// refuses to remove it, until it is restarted again without them. What matters goes all the same: the mount, with it
/// the loop device, and the image. The empty record goes when leftovers are next looked for.
bool is_held_by_a_restart(const Error& refusal, const Volume& volume) {
    auto device = volume.options.find("device");
    return device != volume.options.end() && device->second.starts_with("/dev/loop") &&
           refusal.message().find("active mounts") != std::string::npos;
}

}  // namespace

Error not_ours(std::string_view kind, std::string_view name, const domain::SandboxId& id) {
    return {Code::conflict, fmt::format("there is a {} named {} without the label {}={}: it is not touched", kind, name,
                                        kIdLabel, id.text())};
}

Task<Result<Workspace>> Workspaces::make(domain::SandboxId id, std::map<std::string, std::string> labels,
                                         std::int64_t disk_mib, Deadline deadline) {
    Workspace workspace{.volume = workspace_volume_name(id), .device = std::nullopt};
    VolumeRequest request{.name = workspace.volume, .labels = std::move(labels)};
    if (limited_) {
        auto device = co_await disks_.make(id, disk_mib);
        if (!device) co_return fail(std::move(device.error()));
        // noinit_itable: the kernel would fill the unused inode tables with zeroes, which a sparse file reads as
        // anyway, and take their room (1.6 % of the size) from the host.
        request.options = {{"type", "ext4"}, {"device", device->path()}, {"o", "nosuid,nodev,noatime,noinit_itable"}};
        workspace.device = std::move(*device);
    }
    auto volume = co_await engine_.create_volume(request, deadline);
    if (!volume) co_return fail(std::move(volume.error()));
    if (!belongs_to(*volume, id)) co_return fail(not_ours("volume", workspace.volume, id));
    if (volume->options != request.options) {
        // The remains of an earlier try, over a loop device that may be another's by now.
        auto removed = co_await remove_volume(id, deadline);
        if (!removed) co_return fail(std::move(removed.error()));
        volume = co_await engine_.create_volume(request, deadline);
        if (!volume) co_return fail(std::move(volume.error()));
    }
    if (!workspace.device) open_to_everybody(volume->mountpoint);
    co_return workspace;
}

Task<Result<void>> Workspaces::remove(domain::SandboxId id, Deadline deadline) {
    auto removed = co_await remove_volume(id, deadline);
    if (removed) disks_.remove(id);
    co_return removed;
}

Task<Result<void>> Workspaces::remove_volume(domain::SandboxId id, Deadline deadline) {
    auto name = workspace_volume_name(id);
    auto volume = co_await engine_.inspect_volume(name, deadline);
    if (!volume && volume.error().code() == Code::not_found) co_return Result<void>{};
    if (!volume) co_return fail(std::move(volume.error()));
    if (!belongs_to(*volume, id)) co_return fail(not_ours("volume", name, id));
    for (;;) {
        auto removed = co_await engine_.remove_volume(name, deadline);
        if (removed || removed.error().code() == Code::not_found) co_return Result<void>{};
        if (is_held_by_a_restart(removed.error(), *volume)) {
            (void)::umount2(volume->mountpoint.c_str(), MNT_DETACH);
            log::warn("the engine keeps a volume until its next restart",
                      {{"volume", name}, {"error", removed.error().message()}});
            co_return Result<void>{};
        }
        // In use for a moment more by a container that is just going.
        if (removed.error().code() != Code::conflict || in(100ms) > deadline) co_return removed;
        asio::steady_timer timer(co_await asio::this_coro::executor, 100ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

}  // namespace sandbox::runtime::docker
