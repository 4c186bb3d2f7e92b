#include <lines.hpp>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::mcp {
namespace {

using ::testing::ElementsAre;

/// What comes out of these pieces: lines, and "too long" for each that was.
std::vector<std::string> lines_of(std::vector<std::string> pieces, std::size_t limit = 10) {
    std::vector<std::string> found;
    Lines lines(limit);
    const auto on_line = [&](std::string_view line) { found.emplace_back(line); };
    const auto on_long = [&] { found.emplace_back("too long"); };
    for (const auto& piece : pieces) lines.feed(piece, on_line, on_long);
    lines.end(on_line, on_long);
    return found;
}

TEST(Lines, come_out_whole_however_they_come_in) {
    EXPECT_THAT(lines_of({"one\ntwo\n"}), ElementsAre("one", "two"));
    EXPECT_THAT(lines_of({"o", "n", "e\nt", "wo", "\n"}), ElementsAre("one", "two"));
    EXPECT_THAT(lines_of({"one\r\ntwo\r", "\n"}), ElementsAre("one", "two"));
}

TEST(Lines, that_are_blank_are_left_out) {
    EXPECT_THAT(lines_of({"\n\r\n  \n\t\na\n"}), ElementsAre("a"));
    EXPECT_THAT(lines_of({""}), ElementsAre());
}

TEST(Lines, at_the_end_count_without_their_newline) {
    EXPECT_THAT(lines_of({"one\ntwo"}), ElementsAre("one", "two"));
}

TEST(Lines, that_are_too_long_are_told_once_and_the_next_comes_out) {
    EXPECT_THAT(lines_of({"0123456789\n"}), ElementsAre("0123456789"));
    EXPECT_THAT(lines_of({"0123456789\r\n"}), ElementsAre("0123456789"));
    EXPECT_THAT(lines_of({"0123456789a\nnext\n"}), ElementsAre("too long", "next"));
    EXPECT_THAT(lines_of({"0123456789", "a", std::string(100, 'b'), "\nnext\n"}), ElementsAre("too long", "next"));
    EXPECT_THAT(lines_of({"01234567890123"}), ElementsAre("too long"));
}

}  // namespace
}  // namespace sandbox::mcp
