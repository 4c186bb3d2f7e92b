#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task_group.hpp>
#include <sandbox/domain/assignment.hpp>
#include <sandbox/domain/node.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "job.hpp"

namespace sandbox::sandboxd {

struct QueueLimits {
    std::size_t creates = 16;               // at work at once, on the whole node
    std::size_t execs_per_sandbox = 64;     // at work at once; past it they wait their turn
    std::size_t jobs = 512;                 // in hand; past it nothing but deletes is taken
    std::size_t input_bytes = 256U << 20U;  // standard input of commands in hand
    std::size_t max_output_bytes = 1U << 20U;
};

/// The work that this node has in hand, by sandbox. Within one sandbox work keeps its order: a create by itself, then
/// commands side by side. A delete waits for nothing: it ends what else the sandbox has in hand. Lives on the io
/// thread, as long as the worker; runtime and reporter must outlive it.
class SandboxQueue {
public:
    SandboxQueue(asio::any_io_executor executor, runtime::Runtime& runtime, Reporter& reporter);
    SandboxQueue(const SandboxQueue&) = delete;
    SandboxQueue& operator=(const SandboxQueue&) = delete;

    void set_limits(const QueueLimits& limits) { limits_ = limits; }
    /// Called when operators should see a phase without waiting for the next heartbeat. May be empty.
    std::function<void()> on_phase;

    /// Takes work over and begins it as soon as its turn comes. False for what is in hand already; of that, only the
    /// attempt is taken over. A command that has run here before is never run again, whatever its controller believes:
    /// it is reported as interrupted.
    bool accept(domain::Assignment assignment);
    /// Whether more than deletes can be taken, and how many.
    [[nodiscard]] std::size_t room() const noexcept;

    /// Kills the operation's command, or ends it before its turn. False when there is nothing to do: it is not in hand,
    /// is no command, or is being killed already.
    bool cancel(domain::OperationId operation);
    /// Removes a sandbox that the controller does not want kept, as a delete does, but without a report.
    void remove(domain::SandboxId sandbox);

    /// Ends the queue: nothing begins from now on. Gives what has not begun, for the controller to hand out again.
    [[nodiscard]] std::vector<domain::AssignmentId> close();
    /// Waits until all that has begun is done and reported. What has not by the deadline is abandoned, its sandboxes
    /// left alone.
    Task<void> drain(Deadline deadline);

    [[nodiscard]] std::vector<domain::InFlight> in_flight() const;
    /// What the runtime holds, so that the sums are right after a restart and after sandboxes that went by themselves.
    void take_inventory(const std::vector<domain::InventoryItem>& items);
    /// What the sandboxes here hold together, and how many they are.
    [[nodiscard]] domain::Resources held() const;
    [[nodiscard]] std::size_t sandboxes() const noexcept { return held_.size(); }

private:
    struct Sandbox {
        std::deque<JobPtr> waiting;
        std::vector<JobPtr> running;
        std::size_t destroys = 0;  // deletes and removals in hand
        bool destroying = false;   // one of them at the runtime

        [[nodiscard]] bool creating() const;
    };
    struct Held {
        domain::Resources resources{0, 0, 0, 0};
        int missing = 0;  // inventories in a row without it
    };

    void pump(domain::SandboxId id);
    void pump_creates();
    [[nodiscard]] bool may_begin(const Sandbox& sandbox, const Job& job) const;
    void begin(domain::SandboxId id, Sandbox& sandbox, const JobPtr& job);
    void leave(const JobPtr& job);
    void forget_when_idle(domain::SandboxId id);
    void end_work_of(domain::SandboxId id);
    void end_unbegun(const JobPtr& job);
    void remember_begun(domain::AssignmentId exec);

    void spawn(std::string name, Task<void> task);
    Task<void> run(JobPtr job);
    Task<void> run_delete(JobPtr job);
    Task<void> run_removal(domain::SandboxId id);
    Task<void> kill(JobPtr job);
    Task<void> settle(JobPtr job, domain::Completion completion);
    Task<domain::Completion> perform(JobPtr job);
    Task<domain::Completion> create(JobPtr job);
    Task<domain::Completion> exec(JobPtr job);
    Task<Result<void>> destroy(domain::SandboxId id);

    runtime::Runtime& runtime_;
    Reporter& reporter_;
    QueueLimits limits_;
    std::map<domain::AssignmentId, JobPtr> jobs_;
    std::set<domain::AssignmentId> begun_;  // the last execs that began, also those that are settled
    std::deque<domain::AssignmentId> begun_in_order_;
    std::map<domain::SandboxId, Sandbox> sandboxes_;
    std::deque<domain::SandboxId> waiting_creates_;  // whose create waits for a place
    std::map<domain::SandboxId, Held> held_;
    std::size_t creates_running_ = 0;
    std::size_t input_bytes_ = 0;
    bool closed_ = false;
    async::Signal changed_;
    async::TaskGroup tasks_;
};

}  // namespace sandbox::sandboxd
