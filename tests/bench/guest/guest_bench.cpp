// What the guest costs: a question, an exec, and bytes in both directions. Compare an exec with fork and exec alone.
#include <csignal>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

// From the start of the program until it is ready for commands, without the namespaces that a runtime makes.
void start(benchmark::State& state) {
    char program[] = SANDBOX_GUEST;
    char* argv[] = {program, nullptr};
    for (auto _ : state) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return state.SkipWithError("socketpair");
        posix_spawn_file_actions_t streams;
        posix_spawn_file_actions_init(&streams);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO})
            posix_spawn_file_actions_adddup2(&streams, ends[1], stream);
        pid_t pid = 0;
        if (posix_spawn(&pid, program, &streams, nullptr, argv, nullptr) != 0) return state.SkipWithError("spawn");
        std::string attach;
        append_attach(attach, {.nonce = Nonce{}});
        (void)!write(ends[0], attach.data(), attach.size());
        HostReader reader(Nonce{});
        for (bool ready = false; !ready;) {
            const auto room = reader.prepare();
            const auto count = read(ends[0], room.data(), room.size());
            if (count <= 0) return state.SkipWithError("the guest ended");
            reader.commit(static_cast<std::size_t>(count));
            for (auto frame = reader.next(); frame && *frame; frame = reader.next())
                ready = ready || (*frame)->type == FrameType::ready;
        }
        state.PauseTiming();
        posix_spawn_file_actions_destroy(&streams);
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        for (const int end : ends) close(end);
        state.ResumeTiming();
    }
}
BENCHMARK(start)->Unit(benchmark::kMicrosecond)->UseRealTime();

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
