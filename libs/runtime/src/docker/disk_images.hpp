#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>

#include "docker/loop_device.hpp"

namespace sandbox::runtime::docker {

/// Workspaces of a fixed size: one sparse ext4 image file for each sandbox in a directory of this node's own. Its root
/// belongs to everybody (mode 1777) and is empty. Making a file system takes 50 ms; so one of each size is kept and
/// copied, which takes the time of a few MiB. Owned by the runtime; io thread, with the work on the pool's.
class DiskImages {
public:
    DiskImages(std::string directory, asio::thread_pool& pool);

    /// Whether such images can be made and attached here; the error says what is missing. Blocks for some
    /// milliseconds: for a pool's thread.
    [[nodiscard]] static Result<void> check(const std::string& directory);

    /// A new image, attached. Errors: unavailable.
    Task<Result<LoopDevice>> make(domain::SandboxId id, std::int64_t mib);
    /// Removes a sandbox's image file; nothing is no error. What still has it mounted goes on until it ends.
    void remove(const domain::SandboxId& id);
    /// The sandboxes that have one.
    [[nodiscard]] std::vector<domain::SandboxId> all() const;

private:
    Task<Result<std::string>> provide_template(std::int64_t mib);
    [[nodiscard]] std::string file_of(const domain::SandboxId& id) const;

    std::string directory_;
    asio::thread_pool& pool_;
    bool busy_ = false;  // a template is being made
    async::Signal idle_;
};

}  // namespace sandbox::runtime::docker
