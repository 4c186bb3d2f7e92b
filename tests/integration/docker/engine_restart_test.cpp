// An engine that goes away and comes back, which is one of the test's own.
#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "docker_fixture.hpp"
#include "own_engine.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class EngineRestartTest : private EngineFirst, public DockerTest {
protected:
    EngineRestartTest() : DockerTest(own_engine.address()) {}
    void SetUp() override {
        own_engine.start();
        ASSERT_TRUE(eventually(30s, [&] { return wait(engine_.negotiate(in(1s))).has_value(); }));
        DockerTest::SetUp();
    }
    void TearDown() override {
        DockerTest::TearDown();
        own_engine.stop();
    }
    OwnEngine& engine_process() { return own_engine; }
};

// The stream to the guest breaks and is attached again; the command does not notice, and its end arrives.
TEST_F(EngineRestartTest, a_command_outlives_its_engine) {
    auto id = running();
    int changes = 0;
    runtime_->on_change = [&] { ++changes; };
    auto command = shell_command("echo before; sleep 4; echo after; exit 5");
    auto under_way = begin(runtime_->exec(id, new_operation(), command, 1000));
    eventually(500ms, [] { return false; });
    engine_process().stop();
    auto away = wait(runtime_->list(in(2s)));
    ASSERT_FALSE(away);
    EXPECT_EQ(away.error().code(), Code::unavailable) << away.error().message();
    engine_process().start();
    ASSERT_TRUE(eventually(60s, [&] { return under_way->has_value(); })) << engine_process().log();
    auto& result = **under_way;
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->output.exit_code, 5);
    EXPECT_TRUE(result->output.stdout_text.starts_with("before\n")) << result->output.stdout_text;
    EXPECT_TRUE(result->output.stdout_text.ends_with("after\n")) << result->output.stdout_text;
    EXPECT_TRUE(eventually(10s, [&] { return changes > 0; }));
    EXPECT_EQ(shell(id, "echo again"), "again\n");
    EXPECT_EQ(wait(runtime_->list(in(10s)))->size(), 1U);

    // Such an engine counts the workspace's mount for ever; the delete is done all the same, and the volume's empty
    // record goes when the engine has been restarted again.
    auto deleted = wait(runtime_->destroy(id));
    EXPECT_TRUE(deleted) << deleted.error().message();
    EXPECT_FALSE(std::filesystem::exists(state_.path() + "/disks/" + id.text() + ".ext4"));
    engine_process().stop();
    engine_process().start();
    EXPECT_TRUE(eventually(60s, [&] { return wait(engine_.negotiate(in(1s))) && held().empty(); }));
}

}  // namespace
}  // namespace sandbox::test
