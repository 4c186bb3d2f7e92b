// The memory store with a large fleet: what one sandbox's life costs, and a heartbeat, beside many others.
#include <support/run_task.hpp>

#include <benchmark/benchmark.h>

#include <sandbox/async/clock.hpp>
#include <sandbox/store/memory_store.hpp>

namespace sandbox::store {
namespace {

using namespace std::chrono_literals;

struct LargeFleet {
    LargeFleet(std::int64_t nodes, std::int64_t sandboxes) {
        for (std::int64_t i = 0; i < nodes; ++i) {
            domain::Node node;
            node.id = domain::NodeId::make(clock.now(), random);
            node.name = "node-" + std::to_string(i);
            node.capacity.total = {.cpu_millis = 64'000, .memory_mib = 262'144, .disk_mib = 4'000'000, .pids = 100'000};
            node.capacity.available = node.capacity.total;
            node.supported_tiers = {domain::Tier::container};
            node.incarnation = domain::Incarnation::make(clock.now(), random);
            node.last_seen = clock.now();
            some_node = node.id;
            test::run(io, store->register_node(node, in(5s))).value();
        }
        for (std::int64_t i = 0; i < sandboxes; ++i) place();
        publish();
    }

    Placed place() {
        domain::SandboxSpec spec;
        spec.tenant = "acme";
        spec.image = "debian:12";
        return test::run(io, store->place(spec, {}, in(5s))).value();
    }
    void publish() { test::run(io, store->published(UINT64_MAX, in(5s))).value(); }

    async::ManualClock clock{Timestamp(std::chrono::sys_days(std::chrono::year(2026) / 11 / 30))};
    SystemRandom random;
    asio::io_context io{1};
    std::unique_ptr<Store> store = create_memory_store({.max_ended_records = 1000}, clock, random);
    domain::NodeId some_node;
};

void place_and_destroy(benchmark::State& state) {
    LargeFleet fleet(state.range(0), state.range(1));
    for (auto _ : state) {
        const auto placed = fleet.place();
        benchmark::DoNotOptimize(test::run(fleet.io, fleet.store->destroy(placed.sandbox.id, {}, in(5s))));
        fleet.publish();
    }
}
BENCHMARK(place_and_destroy)->Args({100, 1000})->Args({10'000, 100})->Args({10'000, 10'000});

void heartbeat(benchmark::State& state) {
    LargeFleet fleet(state.range(0), state.range(1));
    domain::Heartbeat report;
    report.capacity = test::run(fleet.io, fleet.store->node(fleet.some_node, in(5s))).value().capacity;
    report.in_flight.emplace();
    report.inventory.emplace();
    for (auto _ : state)
        benchmark::DoNotOptimize(test::run(fleet.io, fleet.store->heartbeat(fleet.some_node, report, in(5s))));
}
BENCHMARK(heartbeat)->Args({100, 1000})->Args({10'000, 10'000});

void sweep(benchmark::State& state) {
    LargeFleet fleet(state.range(0), state.range(1));
    for (auto _ : state) benchmark::DoNotOptimize(test::run(fleet.io, fleet.store->sweep(in(5s))));
}
BENCHMARK(sweep)->Args({10'000, 10'000});

}  // namespace
}  // namespace sandbox::store
