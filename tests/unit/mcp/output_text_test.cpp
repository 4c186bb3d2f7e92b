#include <array>
#include <random>
#include <results.hpp>
#include <vector>

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

/// All pages from the beginning on, each from where the last one said.
std::vector<Page> pages_of(std::string_view bytes, std::size_t limit) {
    std::vector<Page> pages;
    for (std::size_t offset = 0; offset < bytes.size() && pages.size() <= bytes.size(); offset = pages.back().end) {
        pages.push_back(page_of(bytes, offset, limit));
        EXPECT_EQ(pages.back().offset, offset);
        EXPECT_EQ(pages.back().bytes.size(), pages.back().end - offset);
        EXPECT_GT(pages.back().end, offset);
        EXPECT_LE(pages.back().bytes.size(), std::max<std::size_t>(limit, 4));
    }
    return pages;
}
std::string whole(const std::vector<Page>& pages) {
    std::string all;
    for (const auto& page : pages) all += page.bytes;
    return all;
}

std::string random_text(std::mt19937& random, int characters) {
    constexpr std::array<std::string_view, 6> kCharacters{"x", "\n", "é", "€", "\xf0\x9f\x98\x80", "\xed\x9f\xbf"};
    std::string text;
    while (characters-- > 0) text += kCharacters[random() % kCharacters.size()];
    return text;
}
/// Of every kind: what can stand in a character, what can't, and whole characters between them.
std::string random_bytes(std::mt19937& random, int pieces) {
    std::string bytes;
    while (pieces-- > 0) {
        if (random() % 3 == 0)
            bytes += random_text(random, 1);
        else
            bytes += static_cast<char>(random() % 2 == 0 ? 0x80 + random() % 0x80 : random() % 0x100);
    }
    return bytes;
}

TEST(Page, of_text_is_made_of_whole_characters_and_the_pages_make_the_whole) {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        const auto text = random_text(random, static_cast<int>(random() % 100));
        const auto pages = pages_of(text, 1 + random() % 40);
        EXPECT_EQ(whole(pages), text);
        for (const auto& page : pages) EXPECT_TRUE(is_utf8(page.bytes));
    }
}

TEST(Page, of_any_bytes_loses_and_repeats_none) {
    std::mt19937 random(2);
    for (int round = 0; round < 1000; ++round) {
        const auto bytes = random_bytes(random, static_cast<int>(random() % 60));
        EXPECT_EQ(whole(pages_of(bytes, 1 + random() % 20)), bytes);
    }
}

// Whoever counts in steps of its own gets every byte too.
TEST(Page, from_anywhere_begins_there_or_with_the_character_that_reaches_over_it) {
    std::mt19937 random(3);
    for (int round = 0; round < 1000; ++round) {
        const auto bytes = random_bytes(random, 1 + static_cast<int>(random() % 60));
        const auto offset = random() % bytes.size();
        const auto page = page_of(bytes, offset, 4 + random() % 20);
        EXPECT_LE(page.offset, offset);
        EXPECT_GT(page.end, offset);
        EXPECT_EQ(page.bytes, bytes.substr(page.offset, page.end - page.offset));
    }
    EXPECT_EQ(page_of("a€b", 2, 10).bytes, "€b");
    EXPECT_EQ(page_of("a€b", 2, 10).offset, 1U);
    EXPECT_EQ(page_of("\x80\x81"
                      "AB",
                      0, 10)
                  .bytes,
              "\x80\x81"
              "AB");
}

TEST(Page, past_the_end_is_empty) {
    EXPECT_EQ(page_of("abc", 3, 10).bytes, "");
    EXPECT_EQ(page_of("abc", 1000, 10).end, 3U);
    EXPECT_EQ(page_of("", 0, 10).end, 0U);
}

TEST(Cut, of_bytes_that_are_no_text_says_where_the_exact_ones_are) {
    const auto shown = cut(std::string(2000, '\xff'), 300, {}, Stream::out);
    EXPECT_THAT(shown, ::testing::HasSubstr("offset 0"));
    EXPECT_THAT(shown, ::testing::HasSubstr("base64"));
    EXPECT_THAT(cut(numbers(2000), 300, {}, Stream::out), ::testing::Not(::testing::HasSubstr("base64")));
}

}  // namespace
}  // namespace sandbox::mcp
