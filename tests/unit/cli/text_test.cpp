#include <text.hpp>

#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

const Timestamp kNow{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}};

TEST(Times, are_told_in_the_unit_that_says_most) {
    EXPECT_EQ(rough(0s), "0 s");
    EXPECT_EQ(rough(119s), "119 s");
    EXPECT_EQ(rough(2min), "2 min");
    EXPECT_EQ(rough(119min), "119 min");
    EXPECT_EQ(rough(2h), "2 h");
    EXPECT_EQ(rough(47h), "47 h");
    EXPECT_EQ(rough(59min + 59s), "60 min");
    EXPECT_EQ(rough(119min + 59s), "2 h");
    EXPECT_EQ(rough(24h * 3), "3 d");
}

// The two clocks differ a little, always.
TEST(Times, never_lie_in_the_wrong_direction) {
    EXPECT_EQ(rough(-5s), "0 s");
    EXPECT_EQ(ago(kNow + 3s, kNow), "0 s ago");
    EXPECT_EQ(from_now(kNow + 90s, kNow), "in 90 s");
    EXPECT_EQ(from_now(kNow - 90s, kNow), "90 s ago");
}

TEST(Amounts, read_well) {
    EXPECT_EQ(mib(512), "512 MiB");
    EXPECT_EQ(mib(2048), "2 GiB");
    EXPECT_EQ(mib(1536), "1.5 GiB");
    EXPECT_EQ(cores(1000), "1 core");
    EXPECT_EQ(cores(1500), "1.5 cores");
    EXPECT_EQ(cores(250), "0.25 cores");
}

// Columns line up whatever alphabet the names are in, and colours take no room.
TEST(Tables, line_their_columns_up) {
    Table table({"NAME", "STATE"});
    table.add({"größer", {"running", Color::green}});
    table.add({"b", {"failed", Color::red}});

    EXPECT_EQ(table.text(false),
              "NAME    STATE\n"
              "größer  running\n"
              "b       failed\n");
    EXPECT_EQ(table.text(true),
              "\x1b[2mNAME\x1b[0m    \x1b[2mSTATE\x1b[0m\n"
              "größer  \x1b[32mrunning\x1b[0m\n"
              "b       \x1b[31mfailed\x1b[0m\n");
}

TEST(Words, can_be_typed_again) {
    EXPECT_EQ(shell_words({"ls", "-l", "/tmp"}), "ls -l /tmp");
    EXPECT_EQ(shell_words({"sh", "-c", "echo \"$x\" | wc", "", "it's"}), R"(sh -c 'echo "$x" | wc' '' 'it'\''s')");
}

TEST(Printable, keeps_line_feeds_but_in_tables) {
    EXPECT_EQ(printable("a\n\tb\r"), "a\n\tb\\x0d");
    EXPECT_EQ(printable_line("a\n\tb"), "a  b");
    EXPECT_EQ(printable("grün \xff"), "grün \xef\xbf\xbd");
}

}  // namespace
}  // namespace sandbox::cli
