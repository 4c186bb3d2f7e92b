#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>

#include "docker/disk_images.hpp"
#include "docker/engine.hpp"

namespace sandbox::runtime::docker {

/// A sandbox's volume that was just made. Its disk image stays attached while this lives: until the engine has mounted
/// it.
struct Workspace {
    std::string volume;
    std::optional<LoopDevice> device;
};

/// The volumes behind /workspace: disk images of a fixed size where this process may attach loop devices, else plain
/// volumes of the engine. Owned by the runtime; io thread.
class Workspaces {
public:
    Workspaces(Engine& engine, DiskImages& disks) : engine_(engine), disks_(disks) {}

    /// From now on workspaces are limited in size, or not. Plain until it is said.
    void limit_disks(bool limited) { limited_ = limited; }

    /// Makes a sandbox's volume. Errors: conflict when a volume of that name is not that sandbox's.
    Task<Result<Workspace>> make(domain::SandboxId id, std::map<std::string, std::string> labels, std::int64_t disk_mib,
                                 Deadline deadline);
    /// Removes what make() made; nothing is no error. A volume of that name that is not that sandbox's is left alone
    /// (conflict).
    Task<Result<void>> remove(domain::SandboxId id, Deadline deadline);
    /// The sandboxes that have a disk image.
    [[nodiscard]] std::vector<domain::SandboxId> disk_images() const { return disks_.all(); }

private:
    Task<Result<void>> remove_volume(domain::SandboxId id, Deadline deadline);

    Engine& engine_;
    DiskImages& disks_;
    bool limited_ = false;
};

/// The error for a name that is there without the label of that very id.
[[nodiscard]] Error not_ours(std::string_view kind, std::string_view name, const domain::SandboxId& id);

}  // namespace sandbox::runtime::docker
