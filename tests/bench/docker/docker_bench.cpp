// What the Docker runtime costs beside the bare engine, measured in the same run: the round trip of an exec, the time
// to a running sandbox, and the flow of a command's output.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/runtime/docker.hpp>

#include "docker/container_policy.hpp"
#include "docker/engine.hpp"
#include "docker/exec_once.hpp"
#include "docker/names.hpp"
#include "support/process.hpp"
#include "support/run_task.hpp"

namespace {

using namespace sandbox;
using namespace std::chrono_literals;
namespace docker = runtime::docker;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr const char* kImage = "sandbox-base-busybox:local";

Timestamp now() {
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

template <class T>
T must(Result<T> result, const char* what) {
    if (!result) {
        fmt::print(stderr, "{}: {}\n", what, result.error().message());
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Median and 95th percentile of the samples, in milliseconds.
void report(const char* what, std::vector<double> samples) {
    std::ranges::sort(samples);
    fmt::print("{:<44} p50 {:8.2f} ms   p95 {:8.2f} ms\n", what, samples[samples.size() / 2],
               samples[samples.size() * 95 / 100]);
}

template <class F>
double timed(F work) {
    auto begun = std::chrono::steady_clock::now();
    work();
    return Milliseconds(std::chrono::steady_clock::now() - begun).count();
}

class Bench {
public:
    Bench() : engine_(io_.get_executor(), address()) {
        must(wait(engine_.negotiate(in(10s))), "engine");
        runtime::DockerSettings settings;
        settings.engine = address();
        settings.guest_path = test::program("sandbox-guest");
        settings.state_dir = state_.path();
        settings.node_id = node_;
        runtime_ = runtime::create_docker_runtime(io_.get_executor(), settings);
        spec_.tenant = "bench";
        spec_.image = kImage;
        spec_.resources = {.cpu_millis = 2000, .memory_mib = 512, .disk_mib = 1024, .pids = 128};
    }
    ~Bench() { wait(runtime_->stop(in(5s))); }

    void creates(int count) {
        std::vector<double> ours;
        std::vector<double> bare;
        (void)create();  // fills the guest's volume, makes the disk's template
        destroy();
        for (int i = 0; i < count; ++i) {
            bare.push_back(bare_create());
            ours.push_back(create());
            destroy();
        }
        report("volume, container and start, bare engine", bare);
        report("create of a sandbox", ours);
    }

    void execs(int count) {
        (void)create();
        auto container = docker::container_name(id_);
        domain::Command command;
        command.argv = {"true"};
        std::vector<double> ours;
        std::vector<double> bare;
        for (int i = 0; i < count; ++i) {
            ours.push_back(timed([&] {
                must(wait(runtime_->exec(id_, domain::OperationId::make(now(), random_), command, 1024)), "exec");
            }));
            if (i % 10 != 0) continue;
            bare.push_back(timed([&] {
                docker::ExecRequest request{.argv = {"true"}, .env = {}, .cwd = {}, .user = {}};
                must(wait(docker::exec_once(engine_, container, request, in(30s))), "the engine's exec");
            }));
        }
        report("exec of true, the engine's own", bare);
        report("exec of true", ours);
        output();
        destroy();
    }

private:
    void output() {
        constexpr double kMegabytes = 400;
        domain::Command command;
        command.argv = {"dd", "if=/dev/zero", "bs=1000000", "count=400"};
        auto took = timed([&] {
            auto result = must(
                wait(runtime_->exec(id_, domain::OperationId::make(now(), random_), command, 1024 * 1024)), "output");
            if (result.output.stdout_bytes != 400'000'000) fmt::print("output is incomplete\n");
        });
        fmt::print("{:<44} {:.0f} MB/s\n", "output into the capture", kMegabytes / took * 1000);
    }

    double create() {
        id_ = domain::SandboxId::make(now(), random_);
        return timed([&] { must(wait(runtime_->create(id_, spec_, domain::Tier::container, {})), "create"); });
    }
    void destroy() { must(wait(runtime_->destroy(id_)), "delete"); }

    /// The same container with a plain volume and a program that waits, by the engine's three calls one after another.
    double bare_create() {
        auto id = domain::SandboxId::make(now(), random_);
        auto volume = docker::workspace_volume_name(id);
        auto labels = docker::sandbox_labels(id, "bench", node_);
        docker::ContainerPlace place;
        place.id = id;
        place.node = node_;
        place.workspace_volume = volume;
        place.guest_volume = volume + "-other";
        auto request = docker::container_request(spec_, place);
        request["Entrypoint"] = {"sleep", "60"};
        std::string container;
        auto took = timed([&] {
            must(wait(engine_.create_volume({.name = volume, .labels = labels}, in(30s))), "volume");
            container = must(wait(engine_.create_container(docker::container_name(id), request, in(30s))), "container");
            must(wait(engine_.start_container(container, in(30s))), "start");
        });
        must(wait(engine_.remove_container(container, in(30s))), "remove");
        must(wait(engine_.remove_volume(volume, in(30s))), "remove");
        must(wait(engine_.remove_volume(volume + "-other", in(30s))), "remove");
        return took;
    }

    template <class T>
    T wait(Task<T> task) {
        return test::run(io_, std::move(task));
    }
    static http::Url address() {
        const char* host = std::getenv("DOCKER_HOST");
        return http::Url::parse(host ? host : "unix:///var/run/docker.sock").value();
    }

    asio::io_context io_{1};
    SystemRandom random_;
    test::TemporaryDirectory state_;
    domain::NodeId node_ = domain::NodeId::make(now(), random_);
    docker::Engine engine_;
    std::unique_ptr<runtime::Runtime> runtime_;
    domain::SandboxSpec spec_;
    domain::SandboxId id_;
};

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 10;
    Bench bench;
    bench.creates(count);
    bench.execs(20 * count);
    return 0;
}
