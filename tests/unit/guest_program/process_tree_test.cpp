#include "process_tree.hpp"

#include <algorithm>
#include <unistd.h>

#include <gtest/gtest.h>

namespace sandbox::guest {
namespace {

std::vector<pid_t> pids_below(pid_t root, std::vector<Process> processes) {
    std::vector<pid_t> pids;
    for (const auto& process : descendants_of(root, std::move(processes))) pids.push_back(process.pid);
    std::ranges::sort(pids);
    return pids;
}

TEST(ProcessTree, finds_all_below_and_nothing_beside) {
    const std::vector<Process> processes{{1, 0, 'S'}, {2, 1, 'S'}, {5, 2, 'S'}, {3, 5, 'Z'}, {9, 3, 'R'}, {4, 1, 'S'}};

    EXPECT_EQ(pids_below(2, processes), (std::vector<pid_t>{3, 5, 9}));
    EXPECT_EQ(pids_below(4, processes), std::vector<pid_t>{});
    EXPECT_EQ(pids_below(77, processes), std::vector<pid_t>{});
}

// /proc is read over some time, in which pids are used again: a picture with a circle in it must not hang anybody.
TEST(ProcessTree, an_impossible_picture_ends) {
    EXPECT_LE(pids_below(2, {{2, 3, 'S'}, {3, 2, 'S'}, {4, 3, 'S'}}).size(), 3U);
    EXPECT_LE(pids_below(2, {{2, 2, 'S'}}).size(), 1U);
}

TEST(ProcessTree, lists_this_process) {
    const auto processes = list_processes();
    const auto me = std::ranges::find(processes, getpid(), &Process::pid);

    ASSERT_NE(me, processes.end());
    EXPECT_EQ(me->parent, getppid());
    EXPECT_EQ(me->state, 'R');
}

}  // namespace
}  // namespace sandbox::guest
