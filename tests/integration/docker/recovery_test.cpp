// What survives the worker, and what the worker notices.
#include <chrono>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "docker/container_policy.hpp"
#include "docker/names.hpp"
#include "docker_fixture.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace docker = runtime::docker;

// A worker that starts again finds its sandboxes, can use them, and ends what its former process had begun.
TEST_F(DockerTest, finds_its_sandboxes_after_a_restart) {
    auto id = running();
    auto left = shell_command("sleep 997");
    auto abandoned = begin(runtime_->exec(id, new_operation(), left, 1000));
    ASSERT_TRUE(eventually(2s, [] { return false; }) || !abandoned->has_value());
    restart_worker();
    auto items = wait(runtime_->list(in(10s)));
    ASSERT_TRUE(items) << items.error().message();
    ASSERT_EQ(items->size(), 1U);
    EXPECT_TRUE(items->front().running);
    EXPECT_EQ(items->front().resources, small().resources);
    EXPECT_EQ(shell(id, "echo again"), "again\n");
    EXPECT_TRUE(eventually(3s, [&] { return shell(id, "ps -o args | grep -c '^sleep' || true") == "0\n"; }));
}

// The remains of a create that was cut off go at the next start; other workers' sandboxes stay.
TEST_F(DockerTest, removes_the_remains_of_a_cut_create) {
    auto id = new_id();
    auto alone = new_id();
    auto labels = docker::sandbox_labels(id, "test", node_);
    auto of_another = docker::sandbox_labels(new_id(), "test", domain::NodeId::make({}, random_));
    nlohmann::json never_started = {{"Image", kBusybox}, {"Labels", labels}};
    nlohmann::json another = {{"Image", kBusybox}, {"Labels", of_another}};
    ASSERT_TRUE(wait(engine_.create_container(docker::container_name(id), never_started, in(10s))));
    ASSERT_TRUE(wait(engine_.create_volume({.name = docker::workspace_volume_name(id), .labels = labels}, in(10s))));
    ASSERT_TRUE(wait(engine_.create_volume(
        {.name = docker::workspace_volume_name(alone), .labels = docker::sandbox_labels(alone, "test", node_)},
        in(10s))));
    auto foreign = wait(engine_.create_container("", another, in(10s)));
    ASSERT_TRUE(foreign);
    EXPECT_THAT(*wait(runtime_->list(in(10s))), IsEmpty());
    EXPECT_THAT(held(), IsEmpty());
    EXPECT_TRUE(wait(engine_.inspect_container(*foreign, in(10s))));
    EXPECT_TRUE(wait(engine_.remove_container(*foreign, in(10s))));
}

// A container that is killed from outside is told at once, with how it ended; commands under way fail with the reason.
TEST_F(DockerTest, notices_a_sandbox_that_dies) {
    auto id = running();
    int changes = 0;
    runtime_->on_change = [&] { ++changes; };
    auto sleep = shell_command("sleep 60");
    auto under_way = begin(runtime_->exec(id, new_operation(), sleep, 1000));
    eventually(300ms, [] { return false; });
    ASSERT_TRUE(wait(engine_.kill_container(docker::container_name(id), in(10s))));
    EXPECT_TRUE(eventually(5s, [&] { return changes > 0; }));
    ASSERT_TRUE(eventually(5s, [&] { return under_way->has_value(); }));
    ASSERT_FALSE(**under_way);
    EXPECT_THAT((**under_way).error().message(), HasSubstr("was killed or removed from outside"));
    auto items = wait(runtime_->list(in(10s)));
    ASSERT_TRUE(items) << items.error().message();
    ASSERT_EQ(items->size(), 1U);
    EXPECT_FALSE(items->front().running);
    EXPECT_EQ(items->front().exit_code, 137);
    auto late = exec(id, {"true"});
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message(), HasSubstr("was killed or removed from outside"));
}

TEST_F(DockerTest, notices_a_sandbox_that_is_removed) {
    auto id = running();
    int changes = 0;
    runtime_->on_change = [&] { ++changes; };
    eventually(100ms, [] { return false; });
    ASSERT_TRUE(wait(engine_.remove_container(docker::container_name(id), in(10s))));
    EXPECT_TRUE(eventually(5s, [&] { return changes > 0; }));
    EXPECT_THAT(*wait(runtime_->list(in(10s))), IsEmpty());
    auto late = exec(id, {"true"});
    ASSERT_FALSE(late);
    // What is left of it, its workspace, goes with the delete.
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    EXPECT_THAT(held(), IsEmpty());
}

}  // namespace
}  // namespace sandbox::test
