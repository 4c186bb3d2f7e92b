// What the guest costs: a question, an exec, and bytes in both directions. Compare an exec with fork and exec alone.
#include <spawn.h>
#include <sys/wait.h>

#include <benchmark/benchmark.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

// A frame there and a frame back.
void question(benchmark::State& state) {
    const Sandbox sandbox;
    Host host(sandbox);
    for (auto _ : state) {
        host.command.reset();
        host.send(FrameType::query_command, 0);
        host.wait([&] { return host.command.has_value(); });
    }
}
BENCHMARK(question)->Unit(benchmark::kMicrosecond)->UseRealTime();

void exec_of_true(benchmark::State& state) {
    const Sandbox sandbox;
    Host host(sandbox);
    for (auto _ : state) benchmark::DoNotOptimize(host.run({"/bin/true"}));
}
BENCHMARK(exec_of_true)->Unit(benchmark::kMicrosecond)->UseRealTime();

// The floor: the same program from here, without any guest.
void spawn_of_true(benchmark::State& state) {
    char program[] = "/bin/true";
    char* argv[] = {program, nullptr};
    for (auto _ : state) {
        pid_t pid = 0;
        posix_spawn(&pid, program, nullptr, nullptr, argv, nullptr);
        waitpid(pid, nullptr, 0);
    }
}
BENCHMARK(spawn_of_true)->Unit(benchmark::kMicrosecond)->UseRealTime();

void sixty_four_execs_side_by_side(benchmark::State& state) {
    const Sandbox sandbox;
    Host host(sandbox);
    for (auto _ : state) {
        std::vector<std::uint64_t> ids;
        for (std::size_t i = 0; i < kMaxExecs; ++i) ids.push_back(host.start({"/bin/true"}));
        for (const auto id : ids) host.finish(id);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kMaxExecs));
}
BENCHMARK(sixty_four_execs_side_by_side)->Unit(benchmark::kMillisecond)->UseRealTime();

constexpr std::int64_t kBytes = 100'000'000;

void output(benchmark::State& state) {
    const Sandbox sandbox;
    Host host(sandbox);
    for (auto _ : state) host.run({"head", "-c", std::to_string(kBytes), "/dev/zero"});
    state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(output)->Unit(benchmark::kMillisecond)->UseRealTime();

void input(benchmark::State& state) {
    const Sandbox sandbox;
    Host host(sandbox);
    const std::string bytes(kBytes / 10, 'x');
    for (auto _ : state) host.run({"wc", "-c"}, {}, bytes);
    state.SetBytesProcessed(state.iterations() * kBytes / 10);
}
BENCHMARK(input)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace sandbox::guest::test
