#include "stands.hpp"

#include <cstdlib>
#include <stdexcept>

#include <gtest/gtest.h>

#include <sandbox/async/clock.hpp>
#include <sandbox/runtime/docker.hpp>
#include <sandbox/runtime/external.hpp>

#include "driver_kill.hpp"
#include "support/run_task.hpp"

namespace sandbox::test {

using namespace std::chrono_literals;

namespace {

constexpr const char* kImage = "sandbox-base-busybox:local";
const std::string kSource = SANDBOX_SOURCE_DIR;

void must_run(std::vector<std::string> argv) {
    const auto ended = run_program({.argv = std::move(argv)});
    if (ended.status != 0) throw std::runtime_error("no image for the tests: " + ended.out + ended.err);
}

void set_up_docker(Stand& stand) {
    const char* host = std::getenv("DOCKER_HOST");
    const std::string engine = host != nullptr ? host : "unix:///var/run/docker.sock";
    SystemRandom random;
    runtime::DockerSettings settings;
    settings.engine = http::Url::parse(engine).value();
    settings.guest_path = program("sandbox-guest");
    settings.state_dir = stand.state.path();
    settings.node_id = domain::NodeId::make(async::SystemClock().now(), random);
    stand.runtime = runtime::create_docker_runtime(stand.io.get_executor(), settings);
}

void set_up_driver(Stand& stand, driver_check::Kit::Settings& kit, const std::string& driver) {
    runtime::ExternalSettings settings;
    settings.driver = driver;
    settings.launcher = program("sandbox-driver-run");
    settings.state_dir = stand.state.path();
    settings.node_name = "contract-test";
    auto made = runtime::create_external_runtime(stand.io.get_executor(), settings);
    kit.driver = made.get();
    kit.is_alone = true;
    stand.runtime = std::move(made);
    kit.kill_driver = [driver](std::string_view action) { return driver_check::kill_driver_run(driver, action); };
}

void set_up_runc(Stand& stand, driver_check::Kit::Settings& kit) {
    const auto images = stand.state.path() + "/images";
    ::setenv("RUNC_DRIVER_IMAGES", images.c_str(), 1);
    must_run({"env", "RUNC_DRIVER_IMAGES=" + images, kSource + "/deploy/drivers/runc/unpack-image", kImage});
    set_up_driver(stand, kit, program("sandbox-driver-runc"));
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
    must_run({kSource + "/scripts/build-base-image.sh", "busybox"});
    if (name == "docker")
        set_up_docker(*stand);
    else if (name == "runc")
        set_up_runc(*stand, settings);
    else
        set_up_driver(*stand, settings, kSource + "/tests/fixtures/drivers/test-driver");
    auto capabilities = run(stand->io, stand->runtime->probe(in(30s)));
    if (!capabilities) throw std::runtime_error(capabilities.error().message());
    if (name == "docker")
        settings.limits_disks = std::ranges::find(capabilities->features, "disk_limit") != capabilities->features.end();
    stand->kit = std::make_unique<driver_check::Kit>(stand->io.get_executor(), *stand->runtime,
                                                     std::move(*capabilities), std::move(settings));
    return stand;
}

}  // namespace sandbox::test
