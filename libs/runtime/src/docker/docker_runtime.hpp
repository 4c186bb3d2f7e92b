#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task_group.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/runtime/docker.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "docker/creation.hpp"
#include "docker/engine.hpp"
#include "docker/guest_volume.hpp"
#include "docker/network_guard.hpp"
#include "docker/networks.hpp"
#include "docker/workspaces.hpp"
#include "guest_link.hpp"

namespace sandbox::runtime::docker {

/// Sandboxes as containers. What it remembers is only a cache of what the engine holds: after a restart recover()
/// finds it all again. Lives on the io thread.
class DockerRuntime final : public Runtime {
public:
    DockerRuntime(asio::any_io_executor executor, DockerSettings settings);
    ~DockerRuntime() override;

    Task<Result<Capabilities>> probe(Deadline deadline) override;
    Task<Result<HostStatus>> status(Deadline deadline) override;
    Task<Result<void>> create(domain::SandboxId id, const domain::SandboxSpec& spec, domain::Tier tier,
                              PhaseSink phase) override;
    Task<Result<ExecResult>> exec(domain::SandboxId id, domain::OperationId operation, const domain::Command& command,
                                  std::size_t max_output_bytes) override;
    Task<Result<void>> cancel(domain::SandboxId id, domain::OperationId operation) override;
    Task<Result<void>> destroy(domain::SandboxId id) override;
    Task<Result<std::vector<domain::InventoryItem>>> list(Deadline deadline) override;
    Task<Result<std::unique_ptr<http::Stream>>> dial(domain::SandboxId id, std::uint16_t port,
                                                     Deadline deadline) override;
    Task<void> stop(Deadline deadline) override;

private:
    /// A container with a guest that we are linked to.
    struct Held {
        std::string container;
        std::shared_ptr<GuestLink> link;
        int oom_events = 0;           // told by the engine since we hold it
        bool killed_outside = false;  // somebody told the engine to end it: no limit of its own did
    };

    // runtime.cpp
    Task<Result<void>> ready(Deadline deadline);
    Task<void> check_host();
    [[nodiscard]] bool shares_host_with_engine() const;
    Task<Result<void>> guard(domain::Network network, Network found);
    Task<Result<std::shared_ptr<Held>>> find(domain::SandboxId id);
    Task<Result<void>> remove(domain::SandboxId id);
    Task<Result<void>> remove_container(domain::SandboxId id, Deadline deadline);
    Task<Result<domain::InventoryItem>> inventory_item(domain::SandboxId id, Container container, Deadline deadline);
    [[nodiscard]] bool is_ours(const Container& container) const;

    // create.cpp
    struct Parts;
    Task<Result<void>> make(domain::SandboxId id, const domain::SandboxSpec& spec, std::shared_ptr<Creation> creation,
                            PhaseSink phase);
    Task<Result<Parts>> gather(domain::SandboxId id, const domain::SandboxSpec& spec,
                               std::shared_ptr<Creation> creation, PhaseSink phase);
    Task<Result<void>> bring_up(domain::SandboxId id, const domain::SandboxSpec& spec, const Parts& parts,
                                const Creation& creation, const PhaseSink& phase);
    Task<Result<std::string>> create_container(domain::SandboxId id, const domain::SandboxSpec& spec,
                                               const Parts& parts);
    Task<Result<void>> prepare(Held& held, const domain::SandboxSpec& spec);
    Task<Result<bool>> is_running(domain::SandboxId id);

    // links.cpp
    std::shared_ptr<Held> hold(domain::SandboxId id, std::string container, bool is_starting);
    Task<Result<std::unique_ptr<http::Stream>>> attach(domain::SandboxId id, std::string container,
                                                       std::shared_ptr<bool> is_starting, Deadline deadline);
    void on_link_change(domain::SandboxId id);
    Task<Result<void>> recover(Deadline deadline);
    Task<Result<std::vector<Container>>> containers_of_node(Deadline deadline);
    Task<Result<void>> remove_leftovers(const std::vector<Container>& containers, Deadline deadline);
    Task<void> on_engine_back();
    Task<void> watch();
    void on_event(const EngineEvent& event);

    DockerSettings settings_;
    Engine engine_;
    SystemRandom random_;
    asio::thread_pool pool_{2};  // for what blocks: disk images, the firewall
    Networks networks_;
    NetworkGuard network_guard_;
    GuestVolume guest_;
    DiskImages disks_;
    Workspaces workspaces_;
    std::vector<Capabilities::Check> checks_;  // of the host, made once
    bool limits_disks_ = false;
    bool guards_networks_ = false;
    EngineInfo info_;
    bool recovered_ = false;
    std::map<domain::SandboxId, std::shared_ptr<Held>> held_;
    std::map<domain::SandboxId, std::shared_ptr<Creation>> creations_;
    async::Signal creation_ended_;
    async::TaskGroup tasks_;
};

}  // namespace sandbox::runtime::docker
