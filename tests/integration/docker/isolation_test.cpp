// What a sandbox can and can't do, seen from inside.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "docker_fixture.hpp"

namespace sandbox::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(DockerTest, has_no_capability_and_gains_none) {
    auto id = running();
    auto status = shell(id, "cat /proc/self/status");
    for (const char* line : {"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000",
                             "NoNewPrivs:\t1", "Seccomp:\t2"})
        EXPECT_THAT(status, HasSubstr(line));
}

TEST_F(DockerTest, has_a_read_only_root_and_four_places_to_write) {
    auto id = running();
    EXPECT_NE(exec(id, {"touch", "/x"})->output.exit_code, 0);
    EXPECT_NE(exec(id, {"touch", "/.sandbox/x"})->output.exit_code, 0);
    EXPECT_EQ(shell(id, "for d in /workspace /tmp /run /dev/shm; do echo hi > $d/x && cat $d/x; done"),
              "hi\nhi\nhi\nhi\n");
    EXPECT_EQ(shell(id, "pwd; stat -c %a /workspace"), "/workspace\n1777\n");
    // Build tools run what they put there.
    EXPECT_EQ(shell(id, "printf '#!/bin/sh\necho ran\n' > /tmp/p; chmod +x /tmp/p; /tmp/p"), "ran\n");
    auto mounts = shell(id, "cat /proc/mounts");
    EXPECT_THAT(mounts, Not(HasSubstr("docker.sock")));
}

TEST_F(DockerTest, denied_network_is_no_network) {
    auto id = running();
    EXPECT_EQ(shell(id, "ls /sys/class/net"), "lo\n");
}

TEST_F(DockerTest, knows_its_name_and_environment) {
    auto spec = small();
    spec.env = {{"TWO", "a\nb"}, {"XDG_CACHE_HOME", "/workspace/.cache/deep"}, {"HOME", "/workspace/home"}};
    auto id = running(spec);
    auto text = id.text();
    EXPECT_EQ(shell(id, "hostname"), text.substr(24) + "\n");
    EXPECT_EQ(shell(id, "echo $SANDBOX_ID"), text + "\n");
    EXPECT_EQ(shell(id, "echo \"$TWO\""), "a\nb\n");
    EXPECT_EQ(shell(id, "test -d $HOME && test -d $XDG_CACHE_HOME && echo both"), "both\n");
}

TEST_F(DockerTest, has_a_home_without_being_told) {
    EXPECT_EQ(shell(running(), "echo $HOME"), "/workspace\n");
}

// The guest is PID 1, and nobody in the sandbox can get at its streams.
TEST_F(DockerTest, can_not_reach_the_guests_streams) {
    auto id = running();
    EXPECT_EQ(shell(id, "tr '\\0' ' ' < /proc/1/cmdline"), "/.sandbox/sandbox-guest ");
    for (const char* line : {"echo x > /proc/1/fd/0", "echo x > /proc/1/fd/1", "cat /proc/1/fd/0", "ls -l /proc/1/fd/",
                             "cat /proc/1/environ", "echo x > /proc/1/mem", "kill -9 1 && kill -0 1 && false"})
        EXPECT_NE(exec(id, {"sh", "-c", line})->output.exit_code, 0) << line;
    EXPECT_EQ(shell(id, "echo alive"), "alive\n");
}

// An image that holds one static program and no shell, as a user that it does not name.
TEST_F(DockerTest, needs_nothing_of_the_image) {
    TemporaryDirectory directory;
    auto tool = "cd " + directory.path() +
                " && mkdir data && chmod 755 data && cp \"$(command -v busybox)\" busybox && tar -c busybox data | " +
                "docker import -c 'USER 65534' -c 'VOLUME /data' - sandbox-test-static:local";
    auto made = run_program({.argv = {"sh", "-c", tool}});
    ASSERT_EQ(made.status, 0) << made.err;
    auto spec = small();
    spec.image = "sandbox-test-static:local";
    auto id = running(spec);
    auto result = exec(id, {"/busybox", "sh", "-c", "/busybox id -u; echo x > /workspace/f; echo y > /data/f"});
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->output.stdout_text, "65534\n") << result->output.stderr_text;
    EXPECT_EQ(result->output.exit_code, 0) << result->output.stderr_text;
    // The image's own volume is in memory: an anonymous volume would have no limit.
    auto mounts = exec(id, {"/busybox", "grep", " /data ", "/proc/mounts"});
    EXPECT_THAT(mounts->output.stdout_text, HasSubstr("tmpfs"));
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    EXPECT_EQ(run_program({.argv = {"docker", "rmi", "-f", "sandbox-test-static:local"}}).status, 0);
}

}  // namespace
}  // namespace sandbox::test
