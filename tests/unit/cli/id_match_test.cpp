#include <id_match.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using ::testing::HasSubstr;

// Made within one minute, so that they share their beginning.
const std::vector<std::string> kIds{"019f0a1b-2c3d-7e4f-8a9b-1122334455aa", "019f0a1b-2c3d-7e4f-8a9b-1122334455bb",
                                    "019f0a1c-0000-7000-8000-ffeeddccbbaa"};

TEST(IdMatch, finds_an_id_by_its_end_or_its_beginning) {
    EXPECT_EQ(match_id("4455aa", kIds, "sandbox"), kIds[0]);
    EXPECT_EQ(match_id("019f0a1c", kIds, "sandbox"), kIds[2]);
    EXPECT_EQ(match_id(kIds[1], kIds, "sandbox"), kIds[1]);
}

// People copy with and without hyphens, and in capitals.
TEST(IdMatch, does_not_care_for_hyphens_and_case) {
    EXPECT_EQ(match_id("8A9B-1122334455BB", kIds, "sandbox"), kIds[1]);
    EXPECT_EQ(match_id("8a9b1122334455bb", kIds, "sandbox"), kIds[1]);
}

TEST(IdMatch, names_the_candidates_when_there_are_several) {
    const auto several = match_id("019f0a1b", kIds, "sandbox");

    ASSERT_FALSE(several);
    EXPECT_EQ(several.error().code(), Code::invalid_argument);
    EXPECT_THAT(several.error().message(), HasSubstr("019f0a1b fits 2 sandbox ids: " + kIds[0] + ", " + kIds[1]));
}

// The middle of an id is not what people see of it.
TEST(IdMatch, does_not_find_what_is_neither_beginning_nor_end) {
    EXPECT_EQ(match_id("2c3d7e", kIds, "sandbox").error().code(), Code::not_found);
}

TEST(IdMatch, wants_six_hexadecimal_digits) {
    EXPECT_TRUE(may_be_short_id("4455aa"));
    EXPECT_TRUE(may_be_short_id("9B-112233"));
    EXPECT_FALSE(may_be_short_id("455aa"));
    EXPECT_FALSE(may_be_short_id("4-4-5-5-a"));
    EXPECT_FALSE(may_be_short_id("my-sandbox"));
    EXPECT_FALSE(may_be_short_id(""));
}

}  // namespace
}  // namespace sandbox::cli
