#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/asio/thread_pool.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>

#include "docker/engine.hpp"

namespace sandbox::runtime::docker {

/// The volumes behind /workspace. Owned by the runtime; io thread.
class Workspaces {
public:
    explicit Workspaces(Engine& engine) : engine_(engine) {}

    /// Makes a sandbox's volume and returns its name. Errors: conflict when a volume of that name is not that
    /// sandbox's.
    Task<Result<std::string>> make(domain::SandboxId id, std::map<std::string, std::string> labels, Deadline deadline);
    /// Removes what make() made; nothing is no error. A volume of that name that is not that sandbox's is left alone
    /// (conflict).
    Task<Result<void>> remove(domain::SandboxId id, Deadline deadline);

private:
    Engine& engine_;
};

/// The error for a name that is there without the label of that very id.
[[nodiscard]] Error not_ours(std::string_view kind, std::string_view name, const domain::SandboxId& id);

}  // namespace sandbox::runtime::docker
