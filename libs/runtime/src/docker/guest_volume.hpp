#pragma once

#include <string>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>

#include "docker/engine.hpp"

namespace sandbox::runtime::docker {

/// The volume that holds the guest's program, named by its digest and shared by all sandboxes and workers of a host.
/// Filled through the engine, so that it does not matter where this process runs. Owned by the runtime; io thread.
class GuestVolume {
public:
    GuestVolume(Engine& engine, std::string guest_path, domain::NodeId node)
        : engine_(engine), guest_path_(std::move(guest_path)), node_(node) {}

    /// The volume's name. The first call looks whether it is there and whole, and fills it otherwise, for which it
    /// needs some image that is on the host. Errors: not_found when the program can't be read.
    Task<Result<std::string>> provide(std::string image, Deadline deadline);
    /// It may be gone or empty: look again next time.
    void forget() { name_.clear(); }
    /// Whether the program can be read; its error otherwise.
    [[nodiscard]] Result<void> check() const;

private:
    Task<Result<void>> fill(std::string volume, std::string image, std::string program, Deadline deadline);

    Engine& engine_;
    std::string guest_path_;
    domain::NodeId node_;
    std::string name_;  // empty before the first success
    bool busy_ = false;
    async::Signal idle_;
};

/// The role label's value of containers that only fill a volume and are removed at once.
inline constexpr std::string_view kFillRole = "guest-fill";

}  // namespace sandbox::runtime::docker
