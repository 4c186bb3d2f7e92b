#include <algorithm>
#include <string_view>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/async/clock.hpp>
#include <sandbox/async/offload.hpp>
#include <sandbox/base/log.hpp>

#include "external/external_runtime.hpp"
#include "guest_exec.hpp"
#include "host_status.hpp"

namespace sandbox::runtime::external {

using namespace std::chrono_literals;
using nlohmann::json;

namespace {

/// Larger answers are read on another thread: the heartbeats go on meanwhile.
constexpr std::size_t kReadHere = 256 * 1024;
/// Kept of a stop's time for killing what SIGTERM did not end.
constexpr auto kKillTime = 700ms;
/// On a host where a kill takes its time.
constexpr auto kLongestWait = 15s;

std::vector<std::string> values_of(const std::map<std::string, std::string>& env) {
    std::vector<std::string> values;
    for (const auto& [name, value] : env) values.push_back(value);
    return values;
}

std::string names_of(const std::vector<domain::Tier>& tiers) {
    std::string names;
    for (const auto tier : tiers) names += (names.empty() ? "" : " and ") + std::string(domain::to_text(tier));
    return names;
}

std::chrono::milliseconds until(Deadline deadline) {
    return std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()));
}

Error cancelled_create() {
    return {Code::cancelled, "the sandbox was deleted while it was created"};
}

}  // namespace

/// A call's entry in the table of those under way; gone with it, however it ends.
struct ExternalRuntime::Registration {
    Registration(ExternalRuntime& of_runtime, Call& call)
        : runtime(of_runtime), place(runtime.calls_.insert(runtime.calls_.end(), &call)) {}
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() {
        runtime.calls_.erase(place);
        runtime.changed_.notify_all();
    }
    ExternalRuntime& runtime;
    std::list<Call*>::iterator place;
};

ExternalRuntime::ExternalRuntime(asio::any_io_executor executor, ExternalSettings settings)
    : executor_(executor),
      settings_(std::move(settings)),
      program_(driver_program(settings_)),
      tasks_(std::move(executor)) {}

Task<void> ExternalRuntime::stop(Deadline deadline) {
    stopped_ = true;
    for (const auto& process : processes_) process->stop();
    if (co_await tasks_.join(deadline - kKillTime)) co_return;
    for (const auto& process : processes_) process->kill();
    if (co_await tasks_.join(deadline)) co_return;
    log::warn("a driver's processes are not gone in time; waiting for them");
    co_await tasks_.join(in(kLongestWait));
}

// ---- one run of the driver ----

DriverOrder ExternalRuntime::order(std::string action, domain::SandboxId id, std::size_t answer_limit,
                                   std::chrono::milliseconds limit) const {
    DriverOrder order;
    order.log = [action, text = id.text()](std::string_view line) {
        log::info("driver", {{"sandbox_id", text}, {"action", action}, {"line", std::string(line)}});
    };
    order.action = std::move(action);
    order.answer_limit = answer_limit;
    order.limit = limit;
    return order;
}

/// The end of one run, for who asked for it: that may be gone already.
struct ExternalRuntime::Run {
    std::optional<Result<DriverRun>> end;
    async::Signal ended;
};

/// A task of our own, which nobody cancels: what a run leaves behind is killed whatever becomes of who asked for it.
Task<void> ExternalRuntime::conduct(std::shared_ptr<Run> run, std::shared_ptr<DriverProcess> process) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    const auto place = processes_.insert(processes_.end(), process);
    try {
        run->end = co_await process->run();
    } catch (const std::exception& error) {
        run->end = fail(Code::internal, error.what());
    }
    processes_.erase(place);
    run->ended.notify_all();
}

Task<Result<DriverRun>> ExternalRuntime::run_once(domain::SandboxId id, json payload, DriverOrder order, Call* call) {
    if (stopped_) co_return fail(Code::cancelled, "the worker stops");
    const auto action = order.action;
    order.request = request_text(id, payload);
    payload = nullptr;
    const auto process = std::make_shared<DriverProcess>(executor_, program_, std::move(order));
    struct StopWhenLeft {
        explicit StopWhenLeft(DriverProcess& of_process) : process(of_process) {}
        StopWhenLeft(const StopWhenLeft&) = delete;
        StopWhenLeft& operator=(const StopWhenLeft&) = delete;
        ~StopWhenLeft() { process.stop(); }
        DriverProcess& process;
    };
    const StopWhenLeft stop_when_left(*process);
    if (call != nullptr) {
        call->process = process;
        if (call->cancelled) process->stop();
    }
    const auto run = std::make_shared<Run>();
    tasks_.spawn("driver " + action, conduct(run, process));
    while (!run->end) co_await run->ended.wait(Deadline::max());
    co_return std::move(*run->end);
}

Task<Result<json>> ExternalRuntime::ask(domain::SandboxId id, json payload, DriverOrder order, Call* call) {
    auto end = co_await run_once(id, std::move(payload), order, call);
    if (!end) co_return fail(std::move(end.error()));
    if (end->answer.size() <= kReadHere) co_return result_of(std::move(*end), order);
    auto read = [kept = std::move(*end), order]() mutable { return result_of(std::move(kept), order); };
    co_return co_await async::offload(pool_, std::move(read));
}

Task<Result<json>> ExternalRuntime::ask(std::string action, domain::SandboxId id, json payload,
                                        std::chrono::milliseconds limit) {
    auto plain = order(std::move(action), id, kPlainAnswerLimit, limit);
    co_return co_await ask(id, std::move(payload), std::move(plain));
}

Task<Result<std::string>> ExternalRuntime::ask_anything(std::string action, domain::SandboxId id, json payload,
                                                        std::chrono::milliseconds limit) {
    const auto plain = order(std::move(action), id, kPlainAnswerLimit, limit);
    auto end = co_await run_once(id, std::move(payload), plain);
    if (!end) co_return fail(std::move(end.error()));
    if (end->end == DriverRun::End::exited && end->status == 0) co_return std::move(end->answer);
    const auto read = result_of(std::move(*end), plain);
    co_return fail(read ? Error(Code::unavailable, "the driver failed") : read.error());
}

// ---- turns: one call of a sandbox at a time, but for cancel and delete ----

bool ExternalRuntime::has_room(const Call& call) const {
    return std::ranges::none_of(calls_, [&](const Call* other) {
        if (other == &call || other->sandbox != call.sandbox || !other->has_turn) return false;
        return !(answer_ && answer_->concurrent_exec && call.operation && other->operation);
    });
}

/// False when it was cancelled before its turn came.
Task<bool> ExternalRuntime::wait_for_turn(Call& call) {
    while (!call.cancelled && !has_room(call)) co_await changed_.wait(Deadline::max());
    call.has_turn = !call.cancelled;
    co_return call.has_turn;
}

ExternalRuntime::Call* ExternalRuntime::find_exec(domain::SandboxId id, domain::OperationId operation) {
    const auto found = std::ranges::find_if(
        calls_, [&](const Call* call) { return call->sandbox == id && call->operation == operation; });
    return found == calls_.end() ? nullptr : *found;
}

void ExternalRuntime::stop_calls_of(domain::SandboxId id) {
    for (auto* call : calls_) {
        if (call->sandbox != id) continue;
        call->cancelled = true;
        if (call->process) call->process->stop();
    }
    changed_.notify_all();
}

bool ExternalRuntime::is_creating(domain::SandboxId id) const {
    return std::ranges::any_of(calls_, [&](const Call* call) { return call->sandbox == id && !call->operation; });
}

// ---- what the driver is ----

domain::SandboxId ExternalRuntime::fresh_id() {
    return domain::SandboxId::make(async::SystemClock().now(), random_);
}

Result<void> ExternalRuntime::take_probe(ProbeAnswer answer) {
    for (const auto tier : settings_.tiers.value_or(std::vector<domain::Tier>()))
        if (std::ranges::find(answer.tiers, tier) == answer.tiers.end())
            return fail(Code::unavailable,
                        fmt::format("node.isolation_tiers promises {}, and the driver {} says that it "
                                    "gives {} only",
                                    domain::to_text(tier), settings_.driver, names_of(answer.tiers)));
    probed_at_ = std::chrono::steady_clock::now();
    answer_ = std::move(answer);
    if (!first_answer_) first_answer_ = answer_;
    const bool same = answer_->tiers == first_answer_->tiers;
    auto why = same ? std::string()
                    : fmt::format(
                          "the driver gave {} when this worker started and says {} now; no sandbox is created "
                          "until it says the former again or the worker is restarted",
                          names_of(first_answer_->tiers), names_of(answer_->tiers));
    if (!why.empty() && why != tiers_changed_) log::error("the driver's isolation has changed", {{"error", why}});
    tiers_changed_ = std::move(why);
    return {};
}

Capabilities ExternalRuntime::describe(const Result<void>& lists) const {
    Capabilities capabilities;
    capabilities.info = {.name = answer_->name, .version = answer_->version};
    if (tiers_changed_.empty()) capabilities.tiers = settings_.tiers.value_or(answer_->tiers);
    capabilities.features = {"stdin", "cancel"};
    if (lists) capabilities.features.emplace_back("inventory");
    capabilities.concurrent_exec = answer_->concurrent_exec;
    capabilities.checks.push_back({.what = "driver", .ok = true, .note = settings_.driver});
    capabilities.checks.push_back({.what = "isolation",
                                   .ok = tiers_changed_.empty(),
                                   .note = tiers_changed_.empty() ? names_of(capabilities.tiers) : tiers_changed_});
    capabilities.checks.push_back({.what = "inventory",
                                   .ok = lists.has_value(),
                                   .note = lists ? "the driver lists its sandboxes" : lists.error().message()});
    return capabilities;
}

Task<Result<Capabilities>> ExternalRuntime::probe(Deadline deadline) {
    auto result = co_await ask("probe", fresh_id(), nullptr, std::min(settings_.limits.probe, until(deadline)));
    if (!result) co_return fail(std::move(result.error()));
    auto answer = read_probe(*result);
    if (!answer) co_return fail(std::move(answer.error()).in("driver probe"));
    if (auto taken = take_probe(std::move(*answer)); !taken) co_return fail(std::move(taken.error()));
    auto listed = co_await list(deadline);
    const auto lists = listed ? Result<void>() : fail(std::move(listed.error()));
    auto capabilities = describe(lists);
    told_features_ = capabilities.features;
    co_return capabilities;
}

Task<Result<HostStatus>> ExternalRuntime::status(Deadline) {
    const auto now = std::chrono::steady_clock::now();
    if (answer_ && !stopped_ && now - probed_at_ >= settings_.probe_again) {
        probed_at_ = now;
        tasks_.spawn("probe", probe_again());
    }
    co_return HostStatus{.pressure = host_pressure(), .warm_images = {}};
}

/// Beside the heartbeats, which a slow driver must not hold up.
Task<void> ExternalRuntime::probe_again() {
    const auto features = told_features_;
    const auto changed = tiers_changed_;
    const bool concurrent = answer_->concurrent_exec;
    auto capabilities = co_await probe(in(settings_.limits.probe + settings_.limits.list));
    if (!capabilities) {
        log::warn("the driver's probe failed; its last answer stands", {{"error", capabilities.error().message()}});
        co_return;
    }
    const bool same = features == told_features_ && changed == tiers_changed_ && concurrent == answer_->concurrent_exec;
    if (!same && on_capabilities_change) on_capabilities_change();
}

Task<Result<std::vector<domain::InventoryItem>>> ExternalRuntime::list(Deadline deadline) {
    auto result = co_await ask("list", fresh_id(), nullptr, std::min(settings_.limits.list, until(deadline)));
    if (!result) co_return fail(std::move(result.error()));
    auto ids = read_list(*result);
    if (!ids) co_return fail(std::move(ids.error()).in("driver list"));
    std::vector<domain::InventoryItem> items;
    for (const auto& id : *ids) {
        if (is_creating(id)) continue;
        items.emplace_back().sandbox_id = id;
    }
    co_return items;
}

// ---- what is done with a sandbox ----

Task<Result<void>> ExternalRuntime::create(domain::SandboxId id, const domain::SandboxSpec& spec, domain::Tier tier,
                                           PhaseSink phase) {
    if (!tiers_changed_.empty()) co_return fail(Code::unavailable, tiers_changed_);
    const auto tiers = settings_.tiers.value_or(answer_ ? answer_->tiers : std::vector<domain::Tier>());
    if (std::ranges::find(tiers, tier) == tiers.end())
        co_return fail(Code::invalid_argument,
                       fmt::format("this worker does not isolate as {}", domain::to_text(tier)));
    if (is_creating(id)) co_return fail(Code::conflict, "the sandbox is being created already");
    Call call{.sandbox = id, .operation = {}};
    const Registration registration(*this, call);
    if (!co_await wait_for_turn(call)) co_return fail(cancelled_create());
    if (phase) phase("creating");
    auto asked = order("create", id, kPlainAnswerLimit, settings_.limits.create);
    asked.mask = Mask(values_of(spec.env));
    const json payload{{"spec", spec}, {"isolation", domain::to_text(tier)}};
    auto created = co_await ask(id, payload, std::move(asked), &call);
    // Who cancelled it, deletes it too.
    if (call.cancelled) co_return fail(cancelled_create());
    if (created) co_return Result<void>{};
    auto removed = co_await ask("delete", id, nullptr, settings_.limits.destroy);
    if (!removed)
        log::warn("the remains of a failed create may still be there",
                  {{"sandbox_id", id.text()}, {"error", removed.error().message()}});
    co_return fail(std::move(created.error()));
}

Task<Result<ExecResult>> ExternalRuntime::exec(domain::SandboxId id, domain::OperationId operation,
                                               const domain::Command& command, std::size_t max_output_bytes) {
    Call call{.sandbox = id, .operation = operation};
    const Registration registration(*this, call);
    if (!co_await wait_for_turn(call)) co_return cancelled_result();
    auto asked = order("exec", id, exec_answer_limit(max_output_bytes),
                       std::chrono::seconds(command.timeout_seconds) + settings_.limits.beyond_exec);
    asked.mask = Mask(values_of(command.env));
    const auto mask = asked.mask;
    json payload(command);
    payload["operation_id"] = operation.text();
    payload["max_output_bytes"] = max_output_bytes;
    const auto begun = std::chrono::steady_clock::now();
    auto answer = co_await ask(id, std::move(payload), std::move(asked), &call);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
    if (!answer && call.cancelled) co_return cancelled_result();
    if (!answer) co_return fail(std::move(answer.error()));
    auto read = [result = std::move(*answer), &command, max_output_bytes, took] {
        return read_exec(result, command, max_output_bytes, took);
    };
    auto result = co_await async::offload(pool_, std::move(read));
    if (!result) co_return fail(std::move(result.error()).in("driver exec"));
    if (result->error) result->error = mask.apply(std::move(*result->error));
    // One that went well before the kill came is told as it ended.
    if (call.cancelled && result->output.exit_code != 0 && !result->output.timed_out) {
        result->output.exit_code = kKilledExitCode;
        result->error = "cancelled";
    }
    co_return result;
}

Task<Result<void>> ExternalRuntime::cancel(domain::SandboxId id, domain::OperationId operation) {
    auto* call = find_exec(id, operation);
    if (call == nullptr || call->cancelled) co_return Result<void>{};
    call->cancelled = true;
    changed_.notify_all();
    if (!call->has_turn) co_return Result<void>{};
    json payload{{"operation_id", operation.text()}};
    const auto told = co_await ask("cancel", id, std::move(payload), settings_.limits.cancel);
    const auto give_up = in(settings_.limits.cancel);
    while (told && find_exec(id, operation) != nullptr)
        if (!co_await changed_.wait(give_up)) break;
    // It does not know the action, or not this command.
    call = find_exec(id, operation);
    if (call != nullptr && call->process) call->process->stop();
    co_return Result<void>{};
}

Task<Result<void>> ExternalRuntime::destroy(domain::SandboxId id) {
    if (is_creating(id)) stop_calls_of(id);
    while (is_creating(id)) co_await changed_.wait(Deadline::max());
    auto removed = co_await ask("delete", id, nullptr, settings_.limits.destroy);
    if (!removed) co_return fail(std::move(removed.error()));
    stop_calls_of(id);
    co_return Result<void>{};
}

}  // namespace sandbox::runtime::external

namespace sandbox::runtime {

std::unique_ptr<DriverRuntime> create_external_runtime(asio::any_io_executor executor, ExternalSettings settings) {
    return std::make_unique<external::ExternalRuntime>(std::move(executor), std::move(settings));
}

}  // namespace sandbox::runtime
