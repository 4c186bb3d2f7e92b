#include "sandbox_queue.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

#include "completions.hpp"
#include "contained.hpp"

namespace sandbox::sandboxd {
namespace {

constexpr std::string_view kPullingImage = "pulling image";
constexpr std::string_view kNoTunnels = "this worker does not serve tunnels";
constexpr auto kKillAgain = std::chrono::seconds(1);
// Longer than any lease's answer, heartbeat or report is under way, on the busiest node.
constexpr std::size_t kBegunRemembered = 16384;

std::size_t input_bytes_of(const domain::Assignment& assignment) {
    const auto* exec = std::get_if<domain::ExecWork>(&assignment.kind);
    return exec != nullptr && exec->command.stdin_bytes ? exec->command.stdin_bytes->size() : 0;
}

/// Not inside the caller, as a spawned task otherwise begins: it is in the middle of the books.
Task<void> after_this(Task<void> task) {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    co_await std::move(task);
}

}  // namespace

void SandboxQueue::spawn(std::string name, Task<void> task) {
    tasks_.spawn(std::move(name), after_this(std::move(task)));
}

bool SandboxQueue::Sandbox::creating() const {
    return std::ranges::any_of(running, [](const JobPtr& job) { return job->kind() == domain::OperationKind::create; });
}

SandboxQueue::SandboxQueue(asio::any_io_executor executor, runtime::Runtime& runtime, Reporter& reporter)
    : runtime_(runtime), reporter_(reporter), tasks_(std::move(executor)) {}

bool SandboxQueue::accept(domain::Assignment assignment) {
    if (const auto known = jobs_.find(assignment.id); known != jobs_.end()) {
        // Its lease ran out while we were cut off. A report counts only with the attempt of the newest lease.
        auto& attempt = known->second->assignment.attempt;
        attempt = std::max(attempt, assignment.attempt);
        return false;
    }
    const auto id = assignment.sandbox_id;
    auto job = std::make_shared<Job>(Job{.assignment = std::move(assignment)});
    jobs_.emplace(job->assignment.id, job);
    input_bytes_ += input_bytes_of(job->assignment);
    if (begun_.contains(job->assignment.id)) {
        log::warn("a command that has run here is not run again",
                  {{"operation_id", job->assignment.operation_id.text()}});
        job->stage = Job::Stage::reporting;
        spawn("report", settle(job, interrupted(job->assignment)));
        return true;
    }
    if (job->kind() == domain::OperationKind::destroy) {
        job->stage = Job::Stage::running;
        job->phase = "running";
        end_work_of(id);
        spawn("delete", run_delete(job));
        return true;
    }
    auto& sandbox = sandboxes_[id];
    if (sandbox.destroys > 0) {
        end_unbegun(job);
        return true;
    }
    sandbox.waiting.push_back(job);
    if (job->kind() == domain::OperationKind::create) waiting_creates_.push_back(id);
    pump(id);
    return true;
}

std::size_t SandboxQueue::room() const noexcept {
    if (closed_ || input_bytes_ >= limits_.input_bytes) return 0;
    return limits_.jobs - std::min(limits_.jobs, jobs_.size());
}

bool SandboxQueue::may_begin(const Sandbox& sandbox, const Job& job) const {
    if (job.kind() == domain::OperationKind::create)
        return sandbox.running.empty() && creates_running_ < limits_.creates;
    return !sandbox.creating() && sandbox.running.size() < limits_.execs_per_sandbox;
}

void SandboxQueue::pump(domain::SandboxId id) {
    const auto found = sandboxes_.find(id);
    if (closed_ || found == sandboxes_.end() || found->second.destroys > 0) return;
    auto& sandbox = found->second;
    while (!sandbox.waiting.empty() && may_begin(sandbox, *sandbox.waiting.front())) {
        const auto job = sandbox.waiting.front();
        sandbox.waiting.pop_front();
        begin(id, sandbox, job);
    }
}

void SandboxQueue::begin(domain::SandboxId id, Sandbox& sandbox, const JobPtr& job) {
    job->stage = Job::Stage::running;
    job->phase = "running";
    sandbox.running.push_back(job);
    if (job->kind() == domain::OperationKind::create) {
        job->phase = "creating";
        ++creates_running_;
        std::erase(waiting_creates_, id);
        held_[id] = {.resources = std::get<domain::CreateWork>(job->assignment.kind).spec.resources};
    } else if (job->kind() == domain::OperationKind::exec) {
        remember_begun(job->assignment.id);
    }
    spawn(std::string(domain::to_text(job->kind())), run(job));
}

void SandboxQueue::remember_begun(domain::AssignmentId exec) {
    begun_.insert(exec);
    begun_in_order_.push_back(exec);
    if (begun_in_order_.size() <= kBegunRemembered) return;
    begun_.erase(begun_in_order_.front());
    begun_in_order_.pop_front();
}

void SandboxQueue::pump_creates() {
    const auto waiting = waiting_creates_;
    for (const auto& id : waiting) {
        if (creates_running_ >= limits_.creates) return;
        pump(id);
    }
}

/// Gives up the job's place, for whoever waits for it.
void SandboxQueue::leave(const JobPtr& job) {
    const auto id = job->assignment.sandbox_id;
    std::erase(sandboxes_[id].running, job);
    changed_.notify_all();
    pump(id);
    if (job->kind() == domain::OperationKind::create) {
        --creates_running_;
        pump_creates();
    }
    forget_when_idle(id);
}

void SandboxQueue::forget_when_idle(domain::SandboxId id) {
    const auto found = sandboxes_.find(id);
    if (found == sandboxes_.end()) return;
    const auto& sandbox = found->second;
    if (sandbox.waiting.empty() && sandbox.running.empty() && sandbox.destroys == 0) sandboxes_.erase(found);
}

Task<void> SandboxQueue::run(JobPtr job) {
    auto completion = co_await perform(job);
    leave(job);
    co_await settle(std::move(job), std::move(completion));
}

Task<void> SandboxQueue::settle(JobPtr job, domain::Completion completion) {
    job->stage = Job::Stage::reporting;
    co_await reporter_.report(job, std::move(completion));
    input_bytes_ -= input_bytes_of(job->assignment);
    jobs_.erase(job->assignment.id);
    changed_.notify_all();
}

Task<domain::Completion> SandboxQueue::perform(JobPtr job) {
    switch (job->kind()) {
        case domain::OperationKind::create:
            co_return co_await create(std::move(job));
        case domain::OperationKind::exec:
            co_return co_await exec(std::move(job));
        default:
            co_return failed(job->assignment, std::string(kNoTunnels));
    }
}

Task<domain::Completion> SandboxQueue::create(JobPtr job) {
    const auto& assignment = job->assignment;
    const auto& work = std::get<domain::CreateWork>(assignment.kind);
    if (job->cancelled) {
        held_.erase(assignment.sandbox_id);
        co_return cancelled(assignment);
    }
    auto see_phase = [this, job](std::string_view phase) {
        const bool pulls = phase == kPullingImage || job->phase == kPullingImage;
        job->phase = phase;
        if (pulls && on_phase) on_phase();
    };
    Result<void> made = fail(Code::unavailable, std::string(kNoTunnels));
    if (work.tunnels.empty())
        made = co_await contained(runtime_.create(assignment.sandbox_id, work.spec, work.isolation, see_phase));
    if (!made) held_.erase(assignment.sandbox_id);
    if (job->cancelled) co_return cancelled(assignment);
    if (!made) co_return failed(assignment, made.error().message());
    auto completion = succeeded(assignment);
    if (!work.spec.command.empty()) completion.startup = domain::Startup{.running = true, .exit_code = {}, .tail = ""};
    co_return completion;
}

Task<domain::Completion> SandboxQueue::exec(JobPtr job) {
    const auto& assignment = job->assignment;
    if (job->cancelled) co_return cancelled(assignment);
    auto& work = std::get<domain::ExecWork>(job->assignment.kind);
    auto result = co_await contained(
        runtime_.exec(assignment.sandbox_id, assignment.operation_id, work.command, limits_.max_output_bytes));
    if (result) co_return of_exec(assignment, std::move(*result), job->cancelled);
    if (job->cancelled) co_return cancelled(assignment);
    co_return failed(assignment, result.error().message());
}

bool SandboxQueue::cancel(domain::OperationId operation) {
    const auto found = std::ranges::find_if(
        jobs_, [&](const auto& entry) { return entry.second->assignment.operation_id == operation; });
    if (found == jobs_.end()) return false;
    const auto job = found->second;
    if (job->cancelled || job->kind() != domain::OperationKind::exec || job->stage == Job::Stage::reporting)
        return false;
    job->cancelled = true;
    if (job->stage == Job::Stage::running) {
        spawn("cancel", kill(job));
        return true;
    }
    const auto id = job->assignment.sandbox_id;
    std::erase(sandboxes_[id].waiting, job);
    end_unbegun(job);
    forget_when_idle(id);
    return true;
}

/// Until the command is gone: an engine that is busy, or a command that was only just beginning, wants it said again.
Task<void> SandboxQueue::kill(JobPtr job) {
    while (job->stage == Job::Stage::running) {
        const auto& assignment = job->assignment;
        const auto killed = co_await contained(runtime_.cancel(assignment.sandbox_id, assignment.operation_id));
        if (!killed)
            log::warn("a command could not be killed; trying again",
                      {{"operation_id", assignment.operation_id.text()}, {"error", killed.error().message()}});
        const auto again = in(kKillAgain);
        while (job->stage == Job::Stage::running && co_await changed_.wait(again)) continue;
    }
}

void SandboxQueue::end_unbegun(const JobPtr& job) {
    job->cancelled = true;
    job->stage = Job::Stage::reporting;
    spawn("report", settle(job, cancelled(job->assignment)));
}

/// The sandbox goes: all that it has in hand ends now, and nothing begins until destroy() is done with it.
void SandboxQueue::end_work_of(domain::SandboxId id) {
    auto& sandbox = sandboxes_[id];
    ++sandbox.destroys;
    for (const auto& job : std::exchange(sandbox.waiting, {})) end_unbegun(job);
    std::erase(waiting_creates_, id);
    for (const auto& job : sandbox.running) {
        if (std::exchange(job->cancelled, true)) continue;
        if (job->kind() == domain::OperationKind::exec) spawn("cancel", kill(job));
    }
}

/// Removes the sandbox after end_work_of(). Of several at once, one is at the runtime at a time.
Task<Result<void>> SandboxQueue::destroy(domain::SandboxId id) {
    auto& sandbox = sandboxes_[id];  // stays where it is while destroys > 0
    while (sandbox.destroying) co_await changed_.wait(Deadline::max());
    sandbox.destroying = true;
    auto destroyed = co_await contained(runtime_.destroy(id));
    if (sandbox.creating()) {
        while (sandbox.creating()) co_await changed_.wait(Deadline::max());
        // What that create may have made after the runtime looked.
        destroyed = co_await contained(runtime_.destroy(id));
    }
    if (destroyed) held_.erase(id);
    sandbox.destroying = false;
    --sandbox.destroys;
    changed_.notify_all();
    forget_when_idle(id);
    co_return destroyed;
}

Task<void> SandboxQueue::run_delete(JobPtr job) {
    const auto destroyed = co_await destroy(job->assignment.sandbox_id);
    auto completion = destroyed ? succeeded(job->assignment) : failed(job->assignment, destroyed.error().message());
    co_await settle(std::move(job), std::move(completion));
}

void SandboxQueue::remove(domain::SandboxId sandbox) {
    const auto found = sandboxes_.find(sandbox);
    if (closed_ || (found != sandboxes_.end() && found->second.destroys > 0)) return;
    log::warn("removing a sandbox that the controller does not want kept", {{"sandbox_id", sandbox.text()}});
    end_work_of(sandbox);
    spawn("removal", run_removal(sandbox));
}

Task<void> SandboxQueue::run_removal(domain::SandboxId id) {
    const auto destroyed = co_await destroy(id);
    if (!destroyed)
        log::warn("removal failed; the controller will ask again",
                  {{"sandbox_id", id.text()}, {"error", destroyed.error().message()}});
}

std::vector<domain::AssignmentId> SandboxQueue::close() {
    closed_ = true;
    std::vector<domain::AssignmentId> ids;
    for (const auto& [id, job] : jobs_)
        if (job->stage == Job::Stage::waiting) ids.push_back(id);
    for (const auto& id : ids) jobs_.erase(id);
    for (auto& [id, sandbox] : sandboxes_) sandbox.waiting.clear();
    waiting_creates_.clear();
    return ids;
}

Task<void> SandboxQueue::drain(Deadline deadline) {
    const bool done = co_await tasks_.join(deadline);
    if (!done) log::warn("stopping with work under way; the controller settles it at the next start");
    tasks_.cancel();
    co_await tasks_.join(in(std::chrono::seconds(2)));
}

std::vector<domain::InFlight> SandboxQueue::in_flight() const {
    std::vector<domain::InFlight> list;
    list.reserve(jobs_.size());
    for (const auto& [id, job] : jobs_)
        list.push_back({.assignment_id = id, .attempt = job->assignment.attempt, .phase = job->phase});
    return list;
}

void SandboxQueue::take_inventory(const std::vector<domain::InventoryItem>& items) {
    for (auto& [id, held] : held_) ++held.missing;
    for (const auto& item : items) {
        auto [held, unknown] = held_.try_emplace(item.sandbox_id);
        held->second.missing = 0;
        if (unknown && item.resources) held->second.resources = *item.resources;
    }
    // One listing may be older than a create that has just ended.
    std::erase_if(held_,
                  [&](const auto& entry) { return entry.second.missing > 1 && !sandboxes_.contains(entry.first); });
}

domain::Resources SandboxQueue::held() const {
    domain::Resources sum{0, 0, 0, 0};
    for (const auto& [id, held] : held_) sum += held.resources;
    return sum;
}

}  // namespace sandbox::sandboxd
