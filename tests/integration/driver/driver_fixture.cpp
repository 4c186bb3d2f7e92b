#include "driver_fixture.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sandbox::test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char* kMark = "TEST_DRIVER_MARK";

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

}  // namespace

DriverTest::DriverTest() : mark_(state_.path()) {
    (void)std::signal(SIGPIPE, SIG_IGN);
    ::setenv(kMark, mark_.c_str(), 1);
    settings_.launcher = program("sandbox-driver-run");
    settings_.state_dir = state_.path();
    settings_.node_name = "test-node";
}

void DriverTest::TearDown() {
    if (runtime_) wait(runtime_->stop(in(10s)));
    runtime_.reset();
    EXPECT_TRUE(test::eventually(10s, [&] { return left() == 0; })) << left() << " processes are left";
}

std::string DriverTest::fixture(const std::string& name) {
    return source("tests/fixtures/drivers/" + name);
}

std::string DriverTest::source(const std::string& path) {
    return std::string(SANDBOX_SOURCE_DIR) + "/" + path;
}

std::string DriverTest::script(const std::string& body) {
    const auto path = state_.path() + "/driver";
    std::ofstream(path, std::ios::trunc) << "#!/bin/sh\nrequest=$(cat)\ncd \"$SANDBOX_STATE_DIR\"\n" << body << '\n';
    fs::permissions(path, fs::perms::owner_all);
    return path;
}

runtime::Runtime& DriverTest::use(const std::string& driver) {
    if (runtime_) wait(runtime_->stop(in(10s)));
    settings_.driver = driver;
    runtime_ = runtime::create_external_runtime(io_.get_executor(), settings_);
    return *runtime_;
}

std::string DriverTest::written(const std::string& name) const {
    return read_file(state_.path() + "/" + name);
}

std::size_t DriverTest::left() const {
    const auto entry = std::string(kMark) + "=" + mark_;
    std::size_t count = 0;
    for (const auto& process : fs::directory_iterator("/proc")) {
        if (process.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
        // A zombie's is empty.
        if (read_file(process.path() / "environ").find(entry) != std::string::npos) ++count;
    }
    return count;
}

domain::SandboxSpec any_spec() {
    domain::SandboxSpec spec;
    spec.tenant = "test";
    spec.image = "any:local";
    return spec;
}

domain::Command command(std::vector<std::string> argv) {
    domain::Command command;
    command.argv = std::move(argv);
    command.timeout_seconds = 60;
    return command;
}

}  // namespace sandbox::test
