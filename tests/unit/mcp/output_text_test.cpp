#include <results.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/base/text.hpp>

namespace sandbox::mcp {
namespace {

std::string numbers(int last) {
    std::string text;
    for (int i = 1; i <= last; ++i) text += std::to_string(i) + "\n";
    return text;
}

TEST(Cut, leaves_what_fits_as_it_is) {
    EXPECT_EQ(cut(numbers(10), 21, {}, Stream::out), numbers(10));
    EXPECT_EQ(cut("", 10, {}, Stream::out), "");
}

TEST(Cut, keeps_head_and_tail_at_the_ends_of_lines_and_says_how_to_read_on) {
    const auto text = numbers(2000);
    const auto shown = cut(text, 1000, {}, Stream::err);

    EXPECT_THAT(shown, ::testing::MatchesRegex("1\n2\n(.|\n)*\n\\[… [0-9]+ of 8893 bytes are left out here(.|\n)*"));
    EXPECT_THAT(shown, ::testing::HasSubstr("stream \"stderr\""));
    EXPECT_THAT(shown, ::testing::EndsWith("\n1999\n2000\n"));
    const auto mark = shown.find("\n[… ");
    const auto after = shown.find("…]\n") + std::string("…]\n").size();
    const auto kept = (mark + 1) + (shown.size() - after);
    EXPECT_LE(kept, 1000U);
    EXPECT_THAT(shown, ::testing::HasSubstr("offset " + std::to_string(mark + 1)));
    EXPECT_THAT(shown, ::testing::HasSubstr(std::to_string(text.size() - kept) + " of"));
}

TEST(Cut, does_not_split_characters_of_one_long_line) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "€";
    for (std::size_t limit = 256; limit < 270; ++limit) {
        const auto shown = cut(text, limit, {}, Stream::out);
        EXPECT_TRUE(is_utf8(shown));
        EXPECT_EQ(shown.find("\xef\xbf\xbd"), std::string::npos) << limit;
    }
}

TEST(Page, is_made_of_whole_characters_and_the_pages_make_the_whole) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += i % 3 == 0 ? "€" : i % 3 == 1 ? "x" : "\xf0\x9f\x98\x80";
    for (std::size_t limit = 1; limit < 12; ++limit) {
        std::string whole;
        std::size_t offset = 0;
        while (offset < text.size()) {
            const auto page = page_of(text, offset, limit);
            ASSERT_GT(page.end, offset);
            EXPECT_EQ(page.offset, offset);
            EXPECT_LE(page.text.size(), std::max<std::size_t>(limit, 4));
            whole += page.text;
            offset = page.end;
        }
        EXPECT_EQ(whole, text) << limit;
    }
}

TEST(Page, from_within_a_character_or_past_the_end) {
    EXPECT_EQ(page_of("a€b", 2, 10).text, "b");
    EXPECT_EQ(page_of("a€b", 2, 10).offset, 4U);
    EXPECT_EQ(page_of("abc", 3, 10).text, "");
    EXPECT_EQ(page_of("abc", 1000, 10).end, 3U);
    EXPECT_EQ(page_of("", 0, 10).end, 0U);
}

TEST(Page, of_bytes_that_are_no_text_goes_on) {
    const std::string bytes(100, '\x80');
    std::size_t offset = 0;
    for (int i = 0; offset < bytes.size(); ++i) {
        ASSERT_LT(i, 101);
        const auto page = page_of(bytes, offset, 7);
        ASSERT_GT(page.end, offset);
        EXPECT_TRUE(is_utf8(page.text));
        offset = page.end;
    }
}

}  // namespace
}  // namespace sandbox::mcp
