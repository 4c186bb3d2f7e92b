#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <sandbox/aegis/aegis.hpp>

/// How long one placement takes over a large fleet. Counters: p50_us and p99_us of the single placements in this
/// thread's own time, so that other programs do not count; wall_p99_us by the clock on the wall.
namespace sandbox::aegis {
namespace {

const Timestamp kNow = *parse_time("2026-11-30T00:00:00Z");

std::int64_t below(std::mt19937_64& random, std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

/// Nodes as a busy fleet has them: partly used, some draining or stale, twenty images warm on each.
domain::Node a_node(std::mt19937_64& random) {
    domain::Node node;
    for (auto& byte : node.id.uuid.bytes) byte = static_cast<std::uint8_t>(random());
    node.region = "region-" + std::to_string(below(random, 5));
    node.labels = {{"disk", below(random, 2) == 0 ? "ssd" : "hdd"}, {"rack", std::to_string(below(random, 200))}};
    node.capacity.total = {32'000, 131'072, 1'048'576, 32'768};
    node.capacity.available = {below(random, 32'000), below(random, 131'072), below(random, 1'048'576),
                               below(random, 32'768)};
    node.supported_tiers = {domain::Tier::container};
    if (below(random, 2) == 0) node.supported_tiers.push_back(domain::Tier::microvm);
    for (int i = 0; i < 20; ++i) node.warm_images.push_back("image-" + std::to_string(below(random, 200)));
    node.pressure = static_cast<float>(below(random, 100)) / 100;
    node.draining = below(random, 50) == 0;
    node.supports_http_tunnels = true;
    node.last_seen = kNow - std::chrono::seconds(below(random, 48));
    return node;
}

/// The costliest there is for a pass: no gate removes it.
domain::Node an_idle_node(std::mt19937_64& random) {
    auto node = a_node(random);
    node.labels["disk"] = "ssd";
    node.capacity.available = node.capacity.total;
    node.pressure = 0;
    node.draining = false;
    node.last_seen = kNow;
    return node;
}

domain::SandboxSpec a_spec(std::mt19937_64& random) {
    domain::SandboxSpec spec;
    spec.tenant = "tenant-" + std::to_string(below(random, 10));
    spec.image = "image-" + std::to_string(below(random, 200));
    spec.labels = {{"app", "app-" + std::to_string(below(random, 5))}, {"tier", "front"}};
    spec.placement = {{{"disk", "ssd"}}, "region-1", {"app", "tier"}};
    return spec;
}

/// This thread's time on its core, in microseconds.
double own_micros() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double percentile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void place_over(benchmark::State& state, domain::Node (*make)(std::mt19937_64&)) {
    std::mt19937_64 random(7);
    Fleet fleet;
    std::vector<domain::SandboxSpec> specs;
    for (int i = 0; i < 64; ++i) specs.push_back(a_spec(random));
    for (std::int64_t i = 0; i < state.range(0); ++i) {
        const auto node = make(random);
        fleet.upsert(node);
        for (int live = 0; live < 5; ++live) {
            const auto& spec = specs[static_cast<std::size_t>(below(random, 64))];
            fleet.add_live(node.id, spec.tenant, spec.labels);
        }
    }
    std::vector<double> own;
    std::vector<double> wall;
    std::size_t next = 0;
    for (auto _ : state) {
        const auto began = std::chrono::steady_clock::now();
        const auto own_began = own_micros();
        benchmark::DoNotOptimize(fleet.place(specs[next++ % specs.size()], Policy{}, kNow));
        own.push_back(own_micros() - own_began);
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
        wall.push_back(took.count());
    }
    state.counters["p50_us"] = percentile(own, 0.50);
    state.counters["p99_us"] = percentile(own, 0.99);
    state.counters["wall_p99_us"] = percentile(wall, 0.99);
}

void place(benchmark::State& state) {
    place_over(state, a_node);
}
BENCHMARK(place)->Arg(100)->Arg(1000)->Arg(10'000)->Iterations(5000)->Unit(benchmark::kMicrosecond);

void place_on_idle_fleet(benchmark::State& state) {
    place_over(state, an_idle_node);
}
BENCHMARK(place_on_idle_fleet)->Arg(10'000)->Iterations(5000)->Unit(benchmark::kMicrosecond);

void upsert(benchmark::State& state) {
    std::mt19937_64 random(7);
    Fleet fleet;
    std::vector<domain::Node> nodes;
    for (int i = 0; i < 10'000; ++i) nodes.push_back(a_node(random));
    for (const auto& node : nodes) fleet.upsert(node);
    std::size_t next = 0;
    for (auto _ : state) fleet.upsert(nodes[next++ % nodes.size()]);
}
BENCHMARK(upsert)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sandbox::aegis
