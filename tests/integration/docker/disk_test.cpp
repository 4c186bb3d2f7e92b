// Workspaces of a fixed size, on loop devices.
#include <filesystem>
#include <ranges>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "docker/names.hpp"
#include "docker_fixture.hpp"

namespace sandbox::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace docker = runtime::docker;
namespace fs = std::filesystem;

class DockerDiskTest : public DockerTest {
protected:
    /// Image files of sandboxes in the node's state directory.
    std::vector<std::string> images() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(state_.path() + "/disks"))
            if (auto name = entry.path().filename().string(); !name.starts_with("template-")) names.push_back(name);
        return names;
    }
    /// Loop devices over files of this node.
    [[nodiscard]] std::string attached() const {
        std::string found;
        for (const auto& line :
             run_program({.argv = {"/sbin/losetup", "-l", "-n", "-O", "NAME,BACK-FILE"}}).out | std::views::split('\n'))
            if (std::string text(line.begin(), line.end()); text.find(state_.path()) != text.npos) found += text + "\n";
        return found;
    }
};

// A full disk is the sandbox's own trouble: it is told so, and another one does not feel it.
TEST_F(DockerDiskTest, limits_a_workspace) {
    EXPECT_THAT(wait(runtime_->probe(in(std::chrono::seconds(10))))->features, Contains("disk_limit"));
    auto id = running();
    auto other = running();
    auto full = exec(id, {"dd", "if=/dev/zero", "of=/workspace/f", "bs=1M", "count=256"});
    ASSERT_TRUE(full) << full.error().message();
    EXPECT_NE(full->output.exit_code, 0);
    EXPECT_THAT(full->output.stderr_text, HasSubstr("No space left on device"));
    EXPECT_EQ(shell(other, "echo fine > /workspace/f; cat /workspace/f"), "fine\n");
    EXPECT_EQ(shell(id, "rm /workspace/f; echo again > /workspace/f; cat /workspace/f"), "again\n");
    auto free_kib = std::stol(shell(other, "df -k /workspace | tail -n 1 | awk '{print $2}'"));
    EXPECT_GT(free_kib, 55 * 1024);
    EXPECT_LE(free_kib, 64 * 1024);
}

// A repository can be cloned into it, by whatever user the image has.
TEST_F(DockerDiskTest, starts_empty_and_open_to_everybody) {
    auto id = running();
    EXPECT_EQ(shell(id, "ls -A /workspace"), "");
    EXPECT_EQ(shell(id, "stat -c '%a %u' /workspace"), "1777 0\n");
    EXPECT_EQ(shell(id, "mkdir /workspace/a && echo x > /workspace/a/b && cat /workspace/a/b"), "x\n");
}

TEST_F(DockerDiskTest, leaves_neither_image_nor_loop_device) {
    auto id = running();
    EXPECT_THAT(images(), ::testing::ElementsAre(id.text() + ".ext4"));
    EXPECT_THAT(attached(), HasSubstr(id.text()));
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    EXPECT_THAT(images(), IsEmpty());
    EXPECT_EQ(attached(), "");

    auto spec = small();
    spec.image = "no-such-image:local";
    EXPECT_FALSE(create(new_id(), spec));
    EXPECT_THAT(images(), IsEmpty());
    EXPECT_EQ(attached(), "");
}

// A worker that was killed in the middle left an image without a volume, and one with a stale device.
TEST_F(DockerDiskTest, removes_images_that_a_cut_create_left) {
    fs::create_directories(state_.path() + "/disks");
    auto id = new_id();
    EXPECT_EQ(run_program({.argv = {"touch", state_.path() + "/disks/" + id.text() + ".ext4"}}).status, 0);
    EXPECT_THAT(*wait(runtime_->list(in(std::chrono::seconds(10)))), IsEmpty());
    EXPECT_THAT(images(), IsEmpty());

    auto again = new_id();
    docker::VolumeRequest stale{.name = docker::workspace_volume_name(again),
                                .labels = {{std::string(docker::kIdLabel), again.text()}},
                                .options = {{"type", "ext4"}, {"device", "/dev/loop4242"}}};
    ASSERT_TRUE(wait(engine_.create_volume(stale, in(std::chrono::seconds(10)))));
    EXPECT_TRUE(create(again));
    EXPECT_EQ(shell(again, "echo hi > /workspace/f; cat /workspace/f"), "hi\n");
}

// Where no loop device can be had, the workspace is a plain volume, and the worker says that it is not limited.
TEST_F(DockerDiskTest, does_without_where_it_must) {
    wait(runtime_->stop(in(std::chrono::seconds(5))));
    auto elsewhere = settings();
    elsewhere.state_dir = "/proc/no-such-directory";
    runtime_ = runtime::create_docker_runtime(io_.get_executor(), elsewhere);
    auto capabilities = wait(runtime_->probe(in(std::chrono::seconds(10))));
    ASSERT_TRUE(capabilities) << capabilities.error().message();
    EXPECT_THAT(capabilities->features, ::testing::Not(Contains("disk_limit")));
    auto id = running();
    EXPECT_EQ(shell(id, "stat -c %a /workspace; echo hi > /workspace/f; cat /workspace/f"), "1777\nhi\n");
}

}  // namespace
}  // namespace sandbox::test
