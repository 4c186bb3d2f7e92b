#include <gtest/gtest.h>

#include <sandbox/base/error.hpp>
#include <sandbox/base/version.hpp>

namespace sandbox {
namespace {

// Each step out puts its own context in front; code and details stay.
TEST(Error, gains_context_on_its_way_out) {
    auto error = Error(Code::unavailable, "timed out after 5 s")
                     .with_details(R"({"host":"db"})")
                     .in("connect to PostgreSQL")
                     .in("start");

    EXPECT_EQ(error.message(), "start: connect to PostgreSQL: timed out after 5 s");
    EXPECT_EQ(error.code(), Code::unavailable);
    EXPECT_EQ(error.details(), R"({"host":"db"})");
}

TEST(Error, spells_its_codes) {
    EXPECT_EQ(to_text(Code::invalid_argument), "invalid_argument");
    EXPECT_EQ(to_text(Code::resource_exhausted), "resource_exhausted");
    EXPECT_EQ(to_text(Code::internal), "internal");
}

// A broken invariant ends the process and says why.
TEST(ErrorDeathTest, a_broken_invariant_aborts_with_its_reason) {
    EXPECT_DEATH(broken_invariant("the ledger went below zero"), "broken invariant: the ledger went below zero");
}

TEST(Version, names_program_version_and_commit) {
    EXPECT_EQ(version_line("sandboxd"),
              "sandboxd " + std::string(version()) + " (commit " + std::string(commit()) + ")");
    EXPECT_FALSE(commit().empty());
}

}  // namespace
}  // namespace sandbox
