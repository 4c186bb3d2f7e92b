#include "program.hpp"

#include <gtest/gtest.h>

namespace sandbox::guest {
namespace {

TEST(Environment, changes_take_the_place_of_what_they_name) {
    const Environment base{"A=1", "AB=2", "C=3", "ODD"};

    EXPECT_EQ(merge(base, {"A=new", "D="}), (Environment{"AB=2", "C=3", "ODD", "A=new", "D="}));
    EXPECT_EQ(merge(base, {}), base);
}

TEST(Environment, values_are_found_by_their_whole_name) {
    const Environment env{"ODD", "AB=2", "A=1=1", "EMPTY="};

    EXPECT_EQ(value_of(env, "A"), "1=1");
    EXPECT_EQ(value_of(env, "EMPTY"), "");
    EXPECT_EQ(value_of(env, "B"), "");
    EXPECT_EQ(value_of(env, "ODD"), "");
}

}  // namespace
}  // namespace sandbox::guest
