#include "worker.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task_group.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/base/version.hpp>

#include "backoff.hpp"
#include "heartbeat.hpp"
#include "host.hpp"
#include "leases.hpp"
#include "reports.hpp"
#include "sandbox_queue.hpp"

namespace sandbox::sandboxd {
namespace {

constexpr auto kProbeWithin = std::chrono::seconds(15);
constexpr auto kAnswerWithin = std::chrono::seconds(10);
constexpr auto kSecondLookAfter = std::chrono::seconds(2);
constexpr auto kCancelledWithin = std::chrono::seconds(2);
constexpr std::size_t kExecsPerSandbox = 64;
constexpr std::uint64_t kEnoughOpenFiles = 4096;
constexpr std::int64_t kEnoughDiskMib = 1024;

void log_check(const runtime::Capabilities::Check& check) {
    log::write(check.ok ? log::Level::info : log::Level::warn, check.ok ? "check: there" : "check: missing",
               {{"what", check.what}, {"note", check.note}});
}

/// The short table of what the runtime found on this host.
void log_checks(const runtime::Capabilities& capabilities) {
    log::info("runtime", {{"name", capabilities.info.name}, {"version", capabilities.info.version}});
    for (const auto& check : capabilities.checks) log_check(check);
}

/// What every runtime needs of the host.
void log_host_checks(const std::string& state_dir) {
    const auto files = raise_open_files_limit();
    log_check({.what = "open files", .ok = files >= kEnoughOpenFiles, .note = fmt::format("up to {}", files)});
    const auto disk = free_disk_mib(state_dir).value_or(0);
    log_check(
        {.what = "free disk", .ok = disk >= kEnoughDiskMib, .note = fmt::format("{} MiB under {}", disk, state_dir)});
}

}  // namespace

struct Worker::Impl {
    Impl(asio::any_io_executor executor, WorkerSettings s, runtime::Runtime& r, client::WorkerClient& c,
         async::Clock& k, Random& rand)
        : settings(std::move(s)),
          runtime(r),
          client(c),
          clock(k),
          random(rand),
          incarnation(domain::Incarnation::make(k.now(), rand)),
          reports(c, rand),
          queue(executor, r, reports),
          heartbeat(settings.node_id, {settings.resources, settings.max_sandboxes, settings.state_dir}, r, c, queue),
          leases(settings.node_id, c, queue, rand),
          leasing(executor),
          beating(executor) {}

    WorkerSettings settings;
    runtime::Runtime& runtime;
    client::WorkerClient& client;
    async::Clock& clock;
    Random& random;
    domain::Incarnation incarnation;  // of this process's start
    runtime::Capabilities capabilities;
    Reports reports;
    SandboxQueue queue;
    Heartbeat heartbeat;
    Leases leases;
    bool registered = false;
    bool stopping = false;
    async::Signal stop_requested;
    async::TaskGroup leasing;
    async::TaskGroup beating;

    /// Sooner when the worker stops.
    Task<void> pause(Backoff& backoff) { co_await stop_requested.wait(in(backoff.next())); }

    void connect_parts();
    Task<void> start_and_beat();
    void take_capabilities(runtime::Capabilities found);
    Task<void> probe_until_answered();
    Task<void> register_until_accepted();
    void take_answer(const api::RegisterAnswer& answer);
    Task<void> look_at_engine_again();
    Task<void> look_twice();
    [[nodiscard]] domain::Node describe() const;
};

void Worker::Impl::connect_parts() {
    queue.on_phase = [this] { heartbeat.beat_soon(false); };
    runtime.on_change = [this] { heartbeat.beat_soon(true); };
    runtime.on_capabilities_change = [this] { heartbeat.look_again_soon(); };
    leases.on_unknown_node = [this] { heartbeat.beat_soon(false); };
    heartbeat.on_unknown_node = [this]() -> Task<void> { return register_until_accepted(); };
    heartbeat.on_engine_back = [this]() -> Task<void> { return look_at_engine_again(); };
}

domain::Node Worker::Impl::describe() const {
    domain::Node node;
    node.id = settings.node_id;
    node.name = settings.name;
    node.region = settings.region;
    node.zone = settings.zone;
    node.labels = settings.labels;
    node.capacity = heartbeat.capacity();
    node.supported_tiers = capabilities.tiers;
    node.warm_images = heartbeat.status().warm_images;
    node.pressure = heartbeat.status().pressure;
    node.supports_http_tunnels = capabilities.supports_http_tunnels;
    node.last_seen = clock.now();
    node.runtime = capabilities.info;
    node.version = std::string(version());
    node.incarnation = incarnation;
    node.features = capabilities.features;
    // Heartbeats list all that is in hand, until its report is settled: what they leave out never came here.
    node.features.emplace_back("in_flight");
    return node;
}

void Worker::Impl::take_capabilities(runtime::Capabilities found) {
    capabilities = std::move(found);
    heartbeat.set_inventory(std::ranges::find(capabilities.features, "inventory") != capabilities.features.end());
    log_checks(capabilities);
}

Task<void> Worker::Impl::probe_until_answered() {
    Backoff backoff(random);
    for (bool first = true; !stopping; first = false) {
        auto found = co_await runtime.probe(in(kProbeWithin));
        if (found) {
            take_capabilities(std::move(*found));
            co_return;
        }
        log::write(first ? log::Level::warn : log::Level::debug, "the runtime does not answer; trying again",
                   {{"error", found.error().message()}});
        co_await pause(backoff);
    }
}

Task<void> Worker::Impl::register_until_accepted() {
    Backoff backoff(random);
    for (bool first = true; !stopping; first = false) {
        const auto answer = co_await client.register_node(describe(), in(kAnswerWithin));
        if (answer) {
            take_answer(*answer);
            co_return;
        }
        // A controller that is away is waited for; one that refuses is for an operator to see.
        const bool refused = answer.error().status != 0 && answer.error().status < 500;
        log::write(refused ? log::Level::error
                   : first ? log::Level::warn
                           : log::Level::debug,
                   refused ? "the controller refuses this node; trying again"
                           : "the controller can't be reached; trying again",
                   {{"error", answer.error().error.message()}});
        co_await pause(backoff);
    }
}

void Worker::Impl::take_answer(const api::RegisterAnswer& answer) {
    registered = true;
    heartbeat.set_interval(std::chrono::seconds(std::max<std::int64_t>(1, answer.heartbeat_interval_seconds)));
    QueueLimits limits;
    limits.creates = settings.concurrency;
    limits.execs_per_sandbox = capabilities.concurrent_exec ? kExecsPerSandbox : 1;
    limits.max_output_bytes = settings.max_output_bytes;
    if (answer.max_output_bytes && *answer.max_output_bytes > 0)
        limits.max_output_bytes = static_cast<std::size_t>(*answer.max_output_bytes);
    queue.set_limits(limits);
    // A controller that names the limit also keeps its own ledger; an older one copies what the last heartbeat said.
    const bool has_ledger = answer.max_output_bytes.has_value();
    reports.before_capacity_changes = [this, has_ledger]() -> Task<void> {
        return has_ledger ? heartbeat.between_beats() : heartbeat.beat_now();
    };
    log::info("registered with the controller",
              {{"node_id", settings.node_id.text()}, {"incarnation", incarnation.text()}});
}

/// The engine may have come back as another version, or without what it had.
Task<void> Worker::Impl::look_at_engine_again() {
    auto found = co_await runtime.probe(in(kProbeWithin));
    if (!found) co_return;
    take_capabilities(std::move(*found));
    co_await register_until_accepted();
}

Worker::Worker(asio::any_io_executor executor, WorkerSettings settings, runtime::Runtime& runtime,
               client::WorkerClient& client, async::Clock& clock, Random& random)
    : impl_(std::make_unique<Impl>(std::move(executor), std::move(settings), runtime, client, clock, random)) {
    impl_->connect_parts();
}

Worker::~Worker() {
    impl_->runtime.on_change = nullptr;
    impl_->runtime.on_capabilities_change = nullptr;
}

bool Worker::registered() const noexcept {
    return impl_->registered;
}

/// What went while the worker was away is lost once it misses from two inventories.
Task<void> Worker::Impl::look_twice() {
    async::Signal nothing;
    co_await nothing.wait(in(kSecondLookAfter));
    heartbeat.beat_soon(true);
}

/// Everything that goes on until the worker stops, and may be cancelled at any point.
Task<void> Worker::Impl::start_and_beat() {
    co_await probe_until_answered();
    domain::Heartbeat before_the_first;  // rebuilds the allocations, so that the first report is right
    co_await heartbeat.look(before_the_first);
    co_await register_until_accepted();
    if (stopping) co_return;
    leasing.spawn("leases", leases.run());
    heartbeat.beat_soon(true);
    beating.spawn("second look", look_twice());
    co_await heartbeat.run();
}

void Worker::start() {
    log_host_checks(impl_->settings.state_dir);
    impl_->beating.spawn("heartbeat", impl_->start_and_beat());
}

Task<void> Worker::stop(Deadline deadline) {
    auto& self = *impl_;
    self.stopping = true;
    self.stop_requested.notify_all();
    self.leasing.cancel();
    co_await self.leasing.join(deadline);
    co_await self.leases.hand_back(self.queue.close(), deadline);
    co_await self.queue.drain(deadline);  // heartbeats go on meanwhile and renew the leases
    self.beating.cancel();
    co_await self.beating.join(in(kCancelledWithin));
    co_await self.runtime.stop(in(kCancelledWithin));
}

}  // namespace sandbox::sandboxd
