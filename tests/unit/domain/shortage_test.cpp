#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/domain/shortage.hpp>

namespace sandbox::domain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Node node(Resources total, Resources available) {
    Node node;
    node.capacity.total = total;
    node.capacity.available = available;
    return node;
}

constexpr Resources kTotal{.cpu_millis = 4000, .memory_mib = 8000, .disk_mib = 100'000, .pids = 1000};
constexpr Resources kAsked{.cpu_millis = 1000, .memory_mib = 1000, .disk_mib = 10'000, .pids = 100};

Resources with_disk(std::int64_t disk) {
    auto free = kTotal;
    free.disk_mib = disk;
    return free;
}

TEST(Shortage, names_what_no_host_has_enough_of) {
    auto free = kTotal;
    free.memory_mib = 600;
    EXPECT_EQ(short_resources({node(kTotal, free)}, kAsked),
              "memory_mib (1000 asked, at most 200 to be had on a host, which keeps 5 % in reserve)");
    free.pids = 10;
    EXPECT_THAT(short_resources({node(kTotal, free)}, kAsked),
                AllOf(HasSubstr("memory_mib (1000"), HasSubstr("pids (100 asked, at most 0"), Not(HasSubstr("cpu"))));
}

// It would fit, but for the reserve: 5 % of the total.
TEST(Shortage, names_what_only_the_reserve_has_enough_of) {
    EXPECT_THAT(short_resources({node(kTotal, with_disk(14'999))}, kAsked),
                StartsWith("disk_mib (10000 asked, at most 9999 to be had"));
    EXPECT_THAT(short_resources({node(kTotal, with_disk(14'000)), node(kTotal, with_disk(12'000))}, kAsked),
                AllOf(StartsWith("disk_mib (10000 asked, at most 9000 to be had"), Not(HasSubstr(", pids"))));
}

TEST(Shortage, of_hosts_that_are_short_of_different_things_says_how_many_are) {
    auto other = kTotal;
    other.cpu_millis = 500;
    EXPECT_EQ(short_resources({node(kTotal, with_disk(12'000)), node(kTotal, other), node(kTotal, other)}, kAsked),
              "cpu_millis (1000 asked) on 2 of 3 hosts, disk_mib (10000 asked) on 1 of 3 hosts");
}

TEST(Shortage, that_is_over_by_now_names_the_largest_part_of_what_is_free) {
    EXPECT_THAT(short_resources({node(kTotal, with_disk(20'000))}, kAsked), StartsWith("disk_mib (10000 asked"));
}

TEST(Shortage, looks_at_no_host_that_is_drained) {
    auto drained = node(kTotal, kTotal);
    drained.draining = true;
    EXPECT_EQ(short_resources({drained}, kAsked), "");
    EXPECT_THAT(short_resources({drained, node(kTotal, with_disk(0))}, kAsked), StartsWith("disk_mib (10000 asked"));
    EXPECT_EQ(short_resources({}, kAsked), "");
}

}  // namespace
}  // namespace sandbox::domain
