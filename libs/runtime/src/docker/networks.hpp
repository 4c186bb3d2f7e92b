#pragma once

#include <functional>
#include <map>
#include <string>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/spec.hpp>

#include "docker/engine.hpp"

namespace sandbox::runtime::docker {

/// The networks that the sandboxes of this host share: found, or made when absent, once, and then used by id.
/// Owned by the runtime; io thread.
class Networks {
public:
    Networks(Engine& engine, std::string restricted_name)
        : engine_(engine), restricted_name_(std::move(restricted_name)) {}

    /// What a container's NetworkMode is to be: "none", or a network's id.
    Task<Result<std::string>> provide(domain::Network network, Deadline deadline);
    /// They may be gone: look again next time.
    void forget() { known_.clear(); }
    /// Called before a network that has just been found or made is used for the first time.
    std::function<Task<Result<void>>(domain::Network, Network)> on_found;

private:
    Task<Result<Network>> find_or_make(domain::Network network, Deadline deadline);
    Task<Result<Network>> find(const std::string& name, domain::Network network, Deadline deadline);

    Engine& engine_;
    std::string restricted_name_;
    std::map<domain::Network, std::string> known_;  // ids
    bool busy_ = false;
    async::Signal idle_;
};

}  // namespace sandbox::runtime::docker
