#include "heartbeat.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

#include "contained.hpp"
#include "host.hpp"

namespace sandbox::sandboxd {
namespace {

constexpr auto kEngineWithin = std::chrono::milliseconds(5000);
constexpr auto kAnswerWithin = std::chrono::seconds(10);

}  // namespace

Heartbeat::Heartbeat(domain::NodeId node, CapacityLimits limits, runtime::Runtime& runtime,
                     client::WorkerClient& client, SandboxQueue& queue)
    : node_(node), limits_(std::move(limits)), runtime_(runtime), client_(client), queue_(queue) {}

Task<void> Heartbeat::run() {
    auto due = in(interval_);
    while (true) {
        while (requested_ == Request::none && Deadline::clock::now() < due) co_await requests_.wait(due);
        if (Deadline::clock::now() >= due) requested_ = Request::all;
        const auto what = std::exchange(requested_, Request::none);
        if (what == Request::all) due = in(interval_);
        co_await beat(what);
        // Whoever waits for the end of a beat goes before the next one.
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    }
}

void Heartbeat::beat_soon(bool with_inventory) {
    requested_ = std::max(requested_, with_inventory ? Request::all : Request::phases);
    requests_.notify_all();
}

Task<void> Heartbeat::beat_now() {
    const auto mine = begun_ + 1;
    beat_soon(true);
    while (ended_ < mine) co_await beats_.wait(Deadline::max());
}

Task<void> Heartbeat::between_beats() {
    while (on_its_way_) co_await beats_.wait(Deadline::max());
}

domain::Capacity Heartbeat::capacity() const {
    domain::Capacity capacity;
    capacity.total = limits_.total;
    capacity.available = limits_.total - queue_.held();
    if (const auto free = free_disk_mib(limits_.state_dir))
        capacity.available.disk_mib = std::min(capacity.available.disk_mib, *free);
    for (auto* quantity : {&capacity.available.cpu_millis, &capacity.available.memory_mib, &capacity.available.disk_mib,
                           &capacity.available.pids})
        *quantity = std::max<std::int64_t>(*quantity, 0);
    capacity.max_sandboxes = limits_.max_sandboxes;
    capacity.running_sandboxes = static_cast<std::int64_t>(queue_.sandboxes());
    return capacity;
}

Task<void> Heartbeat::look(domain::Heartbeat& report) {
    // Never longer than an interval: leases are renewed whatever the engine does.
    const auto deadline = in(std::min(kEngineWithin, interval_));
    if (has_inventory_) {
        auto held = co_await contained(runtime_.list(deadline));
        note_engine(held.has_value(), held ? std::string() : held.error().message());
        if (!held) co_return;
        queue_.take_inventory(*held);
        report.inventory = std::move(*held);
    }
    if (auto status = co_await contained(runtime_.status(deadline))) status_ = std::move(*status);
}

Task<void> Heartbeat::beat(Request what) {
    ++begun_;
    domain::Heartbeat report;
    if (what == Request::all) co_await look(report);
    // From here to the answer nothing is reported that gives capacity back.
    on_its_way_ = true;
    report.capacity = capacity();
    report.pressure = status_.pressure;
    report.warm_images = status_.warm_images;
    report.in_flight = queue_.in_flight();

    const auto answer = co_await client_.heartbeat(node_, report, in(kAnswerWithin));
    on_its_way_ = false;
    beats_.notify_all();
    if (!answer && answer.error().error.code() == Code::cancelled) co_return;  // the worker stops
    note_controller(answer || answer.error().status != 0, answer ? std::string() : answer.error().error.message());
    if (answer) {
        for (const auto& operation : answer->cancel) queue_.cancel(operation);
        for (const auto& sandbox : answer->remove) queue_.remove(sandbox);
    } else if (answer.error().status == 404 && on_unknown_node) {
        co_await on_unknown_node();
    } else if (answer.error().status != 0) {
        log::warn("the controller refused a heartbeat",
                  {{"status", std::to_string(answer.error().status)}, {"error", answer.error().error.message()}});
    }
    ended_ = begun_;
    beats_.notify_all();
    if (std::exchange(engine_back_, false) && on_engine_back) co_await on_engine_back();
}

void Heartbeat::note_controller(bool reached, const std::string& why) {
    if (std::exchange(controller_reached_, reached) == reached) return;
    if (reached)
        log::info("the controller answers again");
    else
        log::warn("the controller can't be reached; work goes on and reports wait", {{"error", why}});
}

void Heartbeat::note_engine(bool answers, const std::string& why) {
    if (std::exchange(engine_answers_, answers) == answers) return;
    engine_back_ = engine_back_ || answers;
    if (answers)
        log::info("the runtime answers again");
    else
        log::warn("the runtime does not answer; trying again at each heartbeat", {{"error", why}});
}

}  // namespace sandbox::sandboxd
