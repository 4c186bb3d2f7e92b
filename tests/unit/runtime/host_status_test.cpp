#include "host_status.hpp"

#include <gtest/gtest.h>

namespace sandbox::runtime {
namespace {

TEST(HostStatus, tells_the_share_of_memory_in_use) {
    EXPECT_FLOAT_EQ(*memory_in_use("MemTotal:        1000 kB\nMemFree: 1 kB\nMemAvailable:     250 kB\n"), 0.75F);
    EXPECT_FLOAT_EQ(*memory_in_use("MemTotal: 1000 kB\nMemAvailable: 2000 kB\n"), 0.0F);
    EXPECT_EQ(memory_in_use("MemTotal: 1000 kB\n"), std::nullopt);
    EXPECT_EQ(memory_in_use("MemTotal: 0 kB\nMemAvailable: 0 kB\n"), std::nullopt);
    EXPECT_EQ(memory_in_use(""), std::nullopt);
}

// Only when everything stands still does it count: "some" is high on any busy host.
TEST(HostStatus, tells_the_full_memory_stall) {
    const char* text =
        "some avg10=94.00 avg60=1.00 avg300=0.00 total=1\nfull avg10=12.50 avg60=0.00 avg300=0.00 total=0\n";
    EXPECT_FLOAT_EQ(*memory_stall(text), 0.125F);
    EXPECT_EQ(memory_stall("some avg10=94.00"), std::nullopt);
    EXPECT_EQ(memory_stall(""), std::nullopt);
}

TEST(HostStatus, reads_this_host) {
    EXPECT_GE(host_pressure(), 0.0F);
    EXPECT_LE(host_pressure(), 1.0F);
}

}  // namespace
}  // namespace sandbox::runtime
