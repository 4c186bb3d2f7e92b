// node.docker_runtime: the containers run under that OCI runtime, on an engine of the test's own that knows a second
// one.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "docker_fixture.hpp"
#include "own_engine.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// The same runc under another name, which notes that it was run.
struct SecondRuntime {
    SecondRuntime() {
        std::ofstream(path()) << "#!/bin/sh\necho \"$*\" >> " << log() << "\nexec runc \"$@\"\n";
        std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
    }
    [[nodiscard]] std::string path() const { return directory.path() + "/second-runc"; }
    [[nodiscard]] std::string log() const { return directory.path() + "/log"; }
    TemporaryDirectory directory;
    OwnEngine engine{{"--add-runtime=second=" + path()}};
};

class OciRuntimeTest : private SecondRuntime, public DockerTest {
protected:
    OciRuntimeTest() : DockerTest(engine.address()) {}
    void SetUp() override {
        engine.start();
        ASSERT_TRUE(eventually(30s, [&] { return wait(engine_.negotiate(in(1s))).has_value(); })) << engine.log();
        DockerTest::SetUp();
    }
    void TearDown() override {
        DockerTest::TearDown();
        engine.stop();
    }
    void use(const std::string& oci_runtime, domain::Tier tier) {
        wait(runtime_->stop(in(10s)));
        auto changed = settings();
        changed.oci_runtime = oci_runtime;
        changed.tiers = {tier};
        runtime_ = runtime::create_docker_runtime(io_.get_executor(), changed);
    }
    [[nodiscard]] bool was_run() const { return std::filesystem::exists(log()); }
};

TEST_F(OciRuntimeTest, containers_run_under_the_runtime_that_is_named) {
    (void)running();
    EXPECT_FALSE(was_run());

    // What it gives is the operator's word.
    use("second", domain::Tier::microvm);
    auto capabilities = wait(runtime_->probe(in(10s)));
    ASSERT_TRUE(capabilities) << capabilities.error().message();
    EXPECT_THAT(capabilities->tiers, ::testing::ElementsAre(domain::Tier::microvm));
    const auto id = new_id();
    made_.push_back(id);
    auto created = wait(runtime_->create(id, small(), domain::Tier::microvm, {}));
    ASSERT_TRUE(created) << created.error().message();
    EXPECT_EQ(shell(id, "echo hello"), "hello\n");
    EXPECT_TRUE(was_run());
    EXPECT_FALSE(wait(runtime_->create(new_id(), small(), domain::Tier::container, {})));
}

TEST_F(OciRuntimeTest, one_that_the_engine_does_not_know_is_said) {
    use("kata", domain::Tier::microvm);
    auto capabilities = wait(runtime_->probe(in(10s)));
    ASSERT_FALSE(capabilities);
    EXPECT_EQ(capabilities.error().message(),
              "the engine knows no OCI runtime named kata: set it up there, or change node.docker_runtime");
    use("second", domain::Tier::container);
}

}  // namespace
}  // namespace sandbox::test
