#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/runtime/runtime.hpp>

namespace sandbox::test {

/// A runtime that isolates nothing: a sandbox is a directory, a command is a process of this machine in it. For tests
/// and benchmarks of all that is around a runtime. Commands run with their argv, input, environment, working directory
/// ("/workspace/x" is x in the directory) and time limit as in a real one; a cancel kills the session it leads.
/// An image whose name begins with "missing/" can't be created, and one that begins with "slow/" is pulled until its
/// sandbox is destroyed. Lives on the io thread.
class LocalRuntime final : public runtime::Runtime {
public:
    /// `root` is a directory of the test's own.
    LocalRuntime(asio::any_io_executor executor, std::string root);
    /// Kills what still runs.
    ~LocalRuntime() override;

    Task<Result<runtime::Capabilities>> probe(Deadline deadline) override;
    Task<Result<runtime::HostStatus>> status(Deadline deadline) override;
    Task<Result<void>> create(domain::SandboxId id, const domain::SandboxSpec& spec, domain::Tier tier,
                              runtime::PhaseSink phase) override;
    Task<Result<runtime::ExecResult>> exec(domain::SandboxId id, domain::OperationId operation,
                                           const domain::Command& command, std::size_t max_output_bytes) override;
    Task<Result<void>> cancel(domain::SandboxId id, domain::OperationId operation) override;
    Task<Result<void>> destroy(domain::SandboxId id) override;
    Task<Result<std::vector<domain::InventoryItem>>> list(Deadline deadline) override;

    /// As if an operator had removed the container behind the worker's back.
    void lose(domain::SandboxId id);
    /// As if it were another from now on: what it gives, and whether it can tell what it holds.
    void change(std::vector<domain::Tier> tiers, bool has_inventory) {
        tiers_ = std::move(tiers);
        has_inventory_ = has_inventory;
        if (on_capabilities_change) on_capabilities_change();
    }
    /// As if the engine were down: every call fails with unavailable.
    void set_down(bool down) { down_ = down; }
    [[nodiscard]] std::size_t sandboxes() const noexcept { return sandboxes_.size(); }
    [[nodiscard]] std::size_t commands() const noexcept { return running_.size(); }

private:
    struct Sandbox {
        std::string directory;
        domain::Resources resources;
    };
    [[nodiscard]] std::string directory_of(domain::SandboxId id) const;
    void kill_commands_of(domain::SandboxId id);
    void remove(domain::SandboxId id);

    asio::any_io_executor executor_;
    std::string root_;
    bool down_ = false;
    std::vector<domain::Tier> tiers_{domain::Tier::container};
    bool has_inventory_ = true;
    std::map<domain::SandboxId, Sandbox> sandboxes_;
    std::set<domain::SandboxId> pulling_;
    std::map<domain::OperationId, std::pair<domain::SandboxId, pid_t>> running_;
    async::Signal changed_;
};

}  // namespace sandbox::test
