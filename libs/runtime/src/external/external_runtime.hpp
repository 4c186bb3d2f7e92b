#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task_group.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/runtime/external.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "external/driver_messages.hpp"
#include "external/driver_process.hpp"

namespace sandbox::runtime::external {

/// How the driver is run, each time.
[[nodiscard]] DriverProgram driver_program(const ExternalSettings& settings);

/// Sandboxes of a driver. It remembers only what is under way and what the driver said of itself: everything else is
/// the driver's to know. Lives on the io thread.
class ExternalRuntime final : public DriverRuntime {
public:
    ExternalRuntime(asio::any_io_executor executor, ExternalSettings settings);

    Task<Result<Capabilities>> probe(Deadline deadline) override;
    Task<Result<HostStatus>> status(Deadline deadline) override;
    Task<Result<void>> create(domain::SandboxId id, const domain::SandboxSpec& spec, domain::Tier tier,
                              PhaseSink phase) override;
    Task<Result<ExecResult>> exec(domain::SandboxId id, domain::OperationId operation, const domain::Command& command,
                                  std::size_t max_output_bytes) override;
    Task<Result<void>> cancel(domain::SandboxId id, domain::OperationId operation) override;
    Task<Result<void>> destroy(domain::SandboxId id) override;
    Task<Result<std::vector<domain::InventoryItem>>> list(Deadline deadline) override;
    Task<void> stop(Deadline deadline) override;
    Task<Result<std::string>> ask_anything(std::string action, domain::SandboxId id, nlohmann::json payload,
                                           std::chrono::milliseconds limit) override;

private:
    /// A create or exec from its being asked for to its end. Belongs to that call.
    struct Call {
        domain::SandboxId sandbox;
        std::optional<domain::OperationId> operation;  // of an exec; a create has none
        bool has_turn = false;
        bool cancelled = false;
        std::shared_ptr<DriverProcess> process;  // once it runs
    };
    struct Registration;
    struct Run;

    Task<bool> wait_for_turn(Call& call);
    [[nodiscard]] bool has_room(const Call& call) const;
    [[nodiscard]] Call* find_exec(domain::SandboxId id, domain::OperationId operation);
    void stop_calls_of(domain::SandboxId id);
    [[nodiscard]] bool is_creating(domain::SandboxId id) const;

    [[nodiscard]] DriverOrder order(std::string action, domain::SandboxId id, std::size_t answer_limit,
                                    std::chrono::milliseconds limit) const;
    [[nodiscard]] domain::SandboxId fresh_id();
    Task<void> conduct(std::shared_ptr<Run> run, std::shared_ptr<DriverProcess> process);
    /// Runs the driver once, and stops it when the caller is cancelled. `call` is told of the process.
    Task<Result<DriverRun>> run_once(domain::SandboxId id, nlohmann::json payload, DriverOrder order,
                                     Call* call = nullptr);
    Task<Result<nlohmann::json>> ask(domain::SandboxId id, nlohmann::json payload, DriverOrder order,
                                     Call* call = nullptr);
    Task<Result<nlohmann::json>> ask(std::string action, domain::SandboxId id, nlohmann::json payload,
                                     std::chrono::milliseconds limit);

    Result<void> take_probe(ProbeAnswer answer);
    Task<void> probe_again();
    [[nodiscard]] Capabilities describe(const Result<void>& lists) const;

    asio::any_io_executor executor_;
    ExternalSettings settings_;
    DriverProgram program_;
    SystemRandom random_;
    asio::thread_pool pool_{1};                // reads large answers
    std::optional<ProbeAnswer> first_answer_;  // what the driver said when this worker started
    std::optional<ProbeAnswer> answer_;        // and last
    std::vector<std::string> told_features_;
    Deadline probed_at_{};
    std::string tiers_changed_;  // why no sandbox is created any more; empty while all is well
    std::list<Call*> calls_;
    std::list<std::shared_ptr<DriverProcess>> processes_;
    async::Signal changed_;  // a call has ended, was cancelled, or has got its process
    bool stopped_ = false;
    async::TaskGroup tasks_;
};

}  // namespace sandbox::runtime::external
