#include <fstream>
#include <support/process.hpp>
#include <sys/resource.h>
#include <worker/host.hpp>

#include <gtest/gtest.h>

namespace sandbox::sandboxd {
namespace {

TEST(Host, gives_what_this_machine_has) {
    const test::TemporaryDirectory state;
    const auto resources = host_resources(state.path());
    ASSERT_TRUE(resources) << resources.error().message();
    EXPECT_GE(resources->cpu_millis, 4000);
    EXPECT_EQ(resources->cpu_millis % 4000, 0);
    EXPECT_GT(resources->memory_mib, 64);
    EXPECT_GT(resources->pids, 100);
    EXPECT_GT(resources->disk_mib, 0);
    EXPECT_LE(resources->disk_mib, *free_disk_mib(state.path()));
}

TEST(Host, raises_the_limit_of_open_files_to_the_hard_one) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit low{.rlim_cur = 64, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);

    EXPECT_EQ(raise_open_files_limit(), before.rlim_max);

    rlimit after{};
    getrlimit(RLIMIT_NOFILE, &after);
    EXPECT_EQ(after.rlim_cur, before.rlim_max);
    setrlimit(RLIMIT_NOFILE, &before);
}

TEST(Host, says_what_it_can_not_tell) {
    const auto resources = host_resources("/nowhere");
    ASSERT_FALSE(resources);
    EXPECT_EQ(resources.error().message(), "the host does not tell its free disk under /nowhere; set node.resources");
}

}  // namespace
}  // namespace sandbox::sandboxd
