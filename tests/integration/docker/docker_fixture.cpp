#include "docker_fixture.hpp"

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "docker/names.hpp"
#include "docker/network_guard.hpp"

namespace sandbox::test {

using namespace std::chrono_literals;
namespace docker = runtime::docker;

domain::Command command(std::vector<std::string> argv) {
    domain::Command command;
    command.argv = std::move(argv);
    command.timeout_seconds = 60;
    return command;
}

domain::Command shell_command(std::string line) {
    return command({"sh", "-c", std::move(line)});
}

std::string DockerTest::usual_engine() {
    const char* host = std::getenv("DOCKER_HOST");
    return host ? host : "unix:///var/run/docker.sock";
}

DockerTest::DockerTest(const std::string& engine)
    : engine_address_(http::Url::parse(engine).value()),
      node_(make_id<domain::NodeId>()),
      engine_(io_.get_executor(), engine_address_),
      restricted_network_("sandbox-test-" + node_.text().substr(24)) {}

void DockerTest::SetUp() {
    auto version = wait(engine_.negotiate(in(10s)));
    ASSERT_TRUE(version) << version.error().message();
    if (!wait(engine_.inspect_image(kBusybox, in(10s)))) {
        auto built = run_program(
            {.argv = {SANDBOX_BASE_IMAGE_SCRIPT, "busybox"}, .environment = {{"DOCKER_HOST", engine_address_.text()}}});
        ASSERT_EQ(built.status, 0) << built.err;
    }
    runtime_ = runtime::create_docker_runtime(io_.get_executor(), settings());
}

runtime::DockerSettings DockerTest::settings() const {
    runtime::DockerSettings settings;
    settings.engine = engine_address_;
    settings.guest_path = program("sandbox-guest");
    settings.state_dir = state_.path();
    settings.node_id = node_;
    settings.restricted_network = restricted_network_;
    return settings;
}

void DockerTest::TearDown() {
    for (const auto& id : made_) {
        auto removed = wait(runtime_->destroy(id));
        EXPECT_TRUE(removed) << removed.error().message();
    }
    EXPECT_EQ(held(), std::vector<std::string>());
    wait(runtime_->stop(in(10s)));
    for (const auto& name : {restricted_network_, std::string(docker::kOpenNetwork)}) remove_network(name);
    runtime_.reset();
}

/// With its guard; one that another worker of this machine uses stays.
void DockerTest::remove_network(const std::string& name) {
    auto found = wait(engine_.find_networks(name, in(10s)));
    if (found && !found->empty() && wait(engine_.remove_network(found->front().id, in(10s))))
        docker::remove_guard(found->front().bridge);
}

void DockerTest::restart_worker() {
    wait(runtime_->stop(in(10s)));
    runtime_ = runtime::create_docker_runtime(io_.get_executor(), settings());
}

domain::SandboxSpec DockerTest::small() {
    domain::SandboxSpec spec;
    spec.tenant = "test";
    spec.image = kBusybox;
    spec.resources = {.cpu_millis = 1000, .memory_mib = 128, .disk_mib = 64, .pids = 64};
    return spec;
}

Result<void> DockerTest::create(domain::SandboxId id, const domain::SandboxSpec& spec) {
    made_.push_back(id);
    phases_.clear();
    return wait(runtime_->create(id, spec, domain::Tier::container,
                                 [this](std::string_view phase) { phases_.emplace_back(phase); }));
}

domain::SandboxId DockerTest::running(const domain::SandboxSpec& spec) {
    auto id = new_id();
    auto created = create(id, spec);
    EXPECT_TRUE(created) << created.error().message();
    return id;
}

Result<runtime::ExecResult> DockerTest::exec(domain::SandboxId id, domain::Command command,
                                             std::size_t max_output_bytes) {
    return wait(runtime_->exec(id, new_operation(), command, max_output_bytes));
}

Result<runtime::ExecResult> DockerTest::exec(domain::SandboxId id, std::vector<std::string> argv) {
    return exec(id, command(std::move(argv)));
}

std::string DockerTest::shell(domain::SandboxId id, const std::string& line) {
    auto result = exec(id, shell_command(line));
    EXPECT_TRUE(result) << result.error().message();
    if (!result) return "";
    EXPECT_EQ(result->output.exit_code, 0) << line << ": " << result->output.stderr_text;
    return result->output.stdout_text;
}

std::vector<std::string> DockerTest::held() {
    std::vector<std::string> names;
    auto label = fmt::format("{}={}", docker::kNodeLabel, node_.text());
    auto containers = wait(engine_.list_containers(label, in(10s)));
    EXPECT_TRUE(containers) << containers.error().message();
    if (containers)
        for (const auto& container : *containers) names.push_back("container " + container.name);
    auto volumes = wait(engine_.list_volumes(label, in(10s)));
    EXPECT_TRUE(volumes) << volumes.error().message();
    if (volumes)
        for (const auto& volume : *volumes) names.push_back("volume " + volume.name);
    return names;
}

}  // namespace sandbox::test
