#include <gtest/gtest.h>

#include <sandbox/base/secret.hpp>

namespace sandbox {
namespace {

TEST(Secret, matches_itself_alone) {
    Secret secret("0123456789abcdef0123456789abcdef");

    EXPECT_TRUE(secret.matches("0123456789abcdef0123456789abcdef"));
    EXPECT_FALSE(secret.matches("0123456789abcdef0123456789abcdeF"));
    EXPECT_FALSE(secret.matches("0123456789abcdef0123456789abcde"));
    EXPECT_FALSE(secret.matches("0123456789abcdef0123456789abcdef0"));
    EXPECT_FALSE(secret.matches(""));
}

// A token that nobody has set must not let in whoever sends none.
TEST(Secret, an_empty_one_matches_nothing) {
    EXPECT_FALSE(Secret().matches(""));
    EXPECT_FALSE(Secret("").matches("x"));
}

}  // namespace
}  // namespace sandbox
