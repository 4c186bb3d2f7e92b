#include <gtest/gtest.h>

#include <sandbox/base/time.hpp>

namespace sandbox {
namespace {

std::string read_back(std::string_view text) {
    auto time = parse_time(text);
    return time ? format_time(*time) : "refused";
}

TEST(Time, reads_any_offset_and_writes_utc) {
    EXPECT_EQ(read_back("2026-11-30T03:04:05.123456Z"), "2026-11-30T03:04:05.123456Z");
    EXPECT_EQ(read_back("2026-11-30T03:04:05Z"), "2026-11-30T03:04:05.000000Z");
    EXPECT_EQ(read_back("2026-11-30t03:04:05z"), "2026-11-30T03:04:05.000000Z");
    EXPECT_EQ(read_back("2026-11-30 03:04:05+05:30"), "2026-11-29T21:34:05.000000Z");
    EXPECT_EQ(read_back("2026-12-31T23:30:00-01:00"), "2027-01-01T00:30:00.000000Z");
    EXPECT_EQ(read_back("1969-12-31T23:59:59.5Z"), "1969-12-31T23:59:59.500000Z");
    EXPECT_EQ(read_back("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00.000000Z");
}

// Nine digits are read, the last three are cut off, not rounded.
TEST(Time, cuts_off_what_is_finer_than_a_microsecond) {
    EXPECT_EQ(read_back("2026-11-30T03:04:05.123456999Z"), "2026-11-30T03:04:05.123456Z");
    EXPECT_EQ(read_back("2026-11-30T03:04:05.1Z"), "2026-11-30T03:04:05.100000Z");
}

TEST(Time, a_leap_second_is_the_next_days_first_moment) {
    EXPECT_EQ(read_back("2016-12-31T23:59:60Z"), "2017-01-01T00:00:00.000000Z");
    EXPECT_EQ(read_back("2017-01-01T01:59:60+02:00"), "2017-01-01T00:00:00.000000Z");
    EXPECT_EQ(read_back("2016-12-31T12:00:60Z"), "refused");
}

TEST(Time, refuses_everything_else) {
    for (auto text : {"",
                      "2026-11-30",
                      "2026-11-30T03:04:05",
                      "2026-11-30T03:04:05.Z",
                      "2026-11-30T03:04:05.1234567890Z",
                      "2026-02-29T00:00:00Z",
                      "2026-13-01T00:00:00Z",
                      "2026-00-01T00:00:00Z",
                      "2026-11-31T00:00:00Z",
                      "2026-11-30T24:00:00Z",
                      "2026-11-30T03:60:05Z",
                      "2026-11-30T03:04:61Z",
                      "2026-11-30T03:04:05+24:00",
                      "2026-11-30T03:04:05+0530",
                      "2026-11-30T03:04:05Z ",
                      " 2026-11-30T03:04:05Z",
                      "-026-11-30T03:04:05Z",
                      "0000-12-31T00:00:00Z",
                      "9999-12-31T23:59:59-00:01",
                      "1796000645"})
        EXPECT_EQ(read_back(text), "refused") << text;
}

TEST(Time, says_what_a_time_looks_like) {
    auto time = parse_time("tomorrow");
    ASSERT_FALSE(time);
    EXPECT_EQ(time.error().code(), Code::invalid_argument);
    EXPECT_EQ(time.error().message(), "not an RFC 3339 time such as 2026-11-30T03:04:05Z: \"tomorrow\"");
}

}  // namespace
}  // namespace sandbox
