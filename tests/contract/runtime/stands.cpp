#include "stands.hpp"

#include <cstdlib>
#include <stdexcept>

#include <gtest/gtest.h>

#include <sandbox/runtime/docker.hpp>
#include <sandbox/runtime/external.hpp>

#include "driver_kill.hpp"
#include "support/run_task.hpp"

namespace sandbox::test {

using namespace std::chrono_literals;

namespace {

constexpr const char* kImage = "sandbox-base-busybox:local";
const std::string kSource = SANDBOX_SOURCE_DIR;

Timestamp now() {
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

void set_up_docker(Stand& stand) {
    const char* host = std::getenv("DOCKER_HOST");
    const std::string engine = host != nullptr ? host : "unix:///var/run/docker.sock";
    const auto built = run_program(
        {.argv = {kSource + "/scripts/build-base-image.sh", "busybox"}, .environment = {{"DOCKER_HOST", engine}}});
    if (built.status != 0) throw std::runtime_error("no image for the tests: " + built.err);
    SystemRandom random;
    runtime::DockerSettings settings;
    settings.engine = http::Url::parse(engine).value();
    settings.guest_path = program("sandbox-guest");
    settings.state_dir = stand.state.path();
    settings.node_id = domain::NodeId::make(now(), random);
    stand.runtime = runtime::create_docker_runtime(stand.io.get_executor(), settings);
}

void set_up_driver(Stand& stand, const std::string& driver) {
    runtime::ExternalSettings settings;
    settings.driver = driver;
    settings.launcher = program("sandbox-driver-run");
    settings.state_dir = stand.state.path();
    settings.node_name = "contract-test";
    stand.runtime = runtime::create_external_runtime(stand.io.get_executor(), settings);
}

}  // namespace

Stand::~Stand() {
    if (!runtime) return;
    const auto left = run(io, runtime->list(in(30s)));
    EXPECT_TRUE(left && left->empty());
    run(io, runtime->stop(in(10s)));
}

std::unique_ptr<Stand> make_stand(const std::string& name) {
    auto stand = std::make_unique<Stand>();
    driver_check::Kit::Settings settings{.image = kImage};
    if (name == "docker") {
        set_up_docker(*stand);
    } else {
        const auto driver = kSource + "/tests/fixtures/drivers/test-driver";
        set_up_driver(*stand, driver);
        settings.kill_driver = [driver](std::string_view action) {
            return driver_check::kill_driver_run(driver, action);
        };
    }
    auto capabilities = run(stand->io, stand->runtime->probe(in(30s)));
    if (!capabilities) throw std::runtime_error(capabilities.error().message());
    if (name == "docker")
        settings.limits_disks = std::ranges::find(capabilities->features, "disk_limit") != capabilities->features.end();
    stand->kit = std::make_unique<driver_check::Kit>(stand->io.get_executor(), *stand->runtime,
                                                     std::move(*capabilities), std::move(settings));
    return stand;
}

}  // namespace sandbox::test
