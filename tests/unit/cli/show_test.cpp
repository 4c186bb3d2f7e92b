#include <show.hpp>

#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

// As placement counts: more than 45 whole seconds, the default of the server's own limit.
TEST(Node, is_silent_when_placement_takes_it_for_stale) {
    domain::Node node;
    node.last_seen = Timestamp(1000s);

    EXPECT_FALSE(is_silent(node, Timestamp(1045s)));
    EXPECT_FALSE(is_silent(node, Timestamp(1045s) + 999ms));
    EXPECT_TRUE(is_silent(node, Timestamp(1046s)));
}

}  // namespace
}  // namespace sandbox::cli
