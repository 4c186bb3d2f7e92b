#include <string>

#include <gtest/gtest.h>

#include <sandbox/base/text.hpp>
#include <sandbox/runtime/output_capture.hpp>

namespace sandbox::runtime {
namespace {

OutputCapture::Kept capture(std::size_t limit, std::string_view bytes, std::size_t piece) {
    OutputCapture capture(limit);
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) capture.append(bytes.substr(0, piece));
    return std::move(capture).finish();
}

std::string numbered_lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += std::to_string(i) + "\n";
    return text;
}

std::int64_t missing_bytes(const std::string& text) {
    auto at = text.find("[... ");
    return at == std::string::npos ? 0 : std::stoll(text.substr(at + 5));
}

// Output that fits is kept byte for byte, up to the very limit and however it comes.
TEST(OutputCapture, keeps_what_fits_whole) {
    auto text = numbered_lines(1000);
    for (std::size_t piece : {1UL, 7UL, 4096UL, text.size()}) {
        auto kept = capture(text.size(), text, piece);
        EXPECT_EQ(kept.text, text);
        EXPECT_FALSE(kept.truncated);
        EXPECT_FALSE(kept.base64);
        EXPECT_EQ(kept.total_bytes, static_cast<std::int64_t>(text.size()));
    }
}

// Of longer output the beginning and the very end are there, and the line between them tells the truth.
TEST(OutputCapture, keeps_beginning_and_end_of_long_output) {
    auto text = numbered_lines(30'000) + "FINAL\n";
    for (std::size_t piece : {1UL, 13UL, 1000UL, 65'536UL, text.size()}) {
        auto kept = capture(10'000, text, piece);
        EXPECT_TRUE(kept.truncated);
        EXPECT_TRUE(kept.text.starts_with("0\n1\n2\n"));
        EXPECT_TRUE(kept.text.ends_with("29999\nFINAL\n"));
        EXPECT_LE(kept.text.size(), 10'000U);
        EXPECT_EQ(kept.total_bytes, static_cast<std::int64_t>(text.size()));
        auto line = kept.text.find("[... ");
        auto after = kept.text.find("...]\n", line) + 5;
        auto tail = kept.text.size() - after;
        // The line begins on a new one, which the output's own line feed may have begun.
        auto head = text.starts_with(kept.text.substr(0, line)) ? line : line - 1;
        EXPECT_TRUE(text.starts_with(kept.text.substr(0, head)));
        EXPECT_EQ(static_cast<std::size_t>(missing_bytes(kept.text)), text.size() - tail - head);
    }
}

// What was skipped on the way counts; what came before it is no part of the last half.
TEST(OutputCapture, tells_of_bytes_that_were_skipped) {
    OutputCapture capture(1000);
    capture.append(std::string(500, 'a') + std::string(100, 'b'));
    capture.skip(7'000'000'000);
    capture.append(std::string(499, 'c') + "\n");
    auto kept = std::move(capture).finish();
    EXPECT_EQ(kept.total_bytes, 7'000'001'100);
    EXPECT_TRUE(kept.truncated);
    EXPECT_FALSE(kept.text.contains("bb"));
    EXPECT_TRUE(kept.text.starts_with(std::string(500, 'a') + "\n[... 7000000164 bytes are missing here ...]\ncc"));
    EXPECT_TRUE(kept.text.ends_with("cc\n"));
}

TEST(OutputCapture, any_number_of_lies_about_skipped_bytes_is_bounded) {
    OutputCapture capture(1000);
    for (int i = 0; i < 100; ++i) capture.skip(UINT64_MAX);
    EXPECT_GT(capture.total_bytes(), 0);
}

// One byte more than the limit is already cut, and says so.
TEST(OutputCapture, cuts_one_byte_past_the_limit) {
    auto kept = capture(1000, std::string(1001, 'x'), 1001);
    EXPECT_TRUE(kept.truncated);
    EXPECT_GT(missing_bytes(kept.text), 0);
}

// A cut in the middle of characters leaves whole ones on both sides.
TEST(OutputCapture, never_splits_a_character) {
    for (std::string character : {"é", "€", "😀"}) {
        std::string text;
        while (text.size() < 5000) text += character;
        for (std::size_t limit = 600; limit < 616; ++limit) {
            auto kept = capture(limit, text, 17);
            EXPECT_TRUE(is_utf8(kept.text));
            EXPECT_EQ(kept.text.find("\xEF\xBF\xBD"), std::string::npos);
            EXPECT_FALSE(kept.base64);
        }
    }
}

// Bytes that are no UTF-8 are replaced in the text, and there exactly in base64.
TEST(OutputCapture, gives_exact_bytes_of_what_is_not_utf8) {
    std::string bytes("a\0\xFF\xC3(", 5);
    auto kept = capture(100, bytes, 2);
    EXPECT_EQ(kept.text, std::string("a\0\xEF\xBF\xBD\xEF\xBF\xBD(", 9));
    ASSERT_TRUE(kept.base64);
    EXPECT_EQ(base64_decode(*kept.base64), bytes);
    EXPECT_FALSE(kept.truncated);
}

// The last character of whole output may be incomplete: that is the command's doing, and not cut.
TEST(OutputCapture, leaves_an_incomplete_end_alone_when_nothing_is_cut) {
    auto kept = capture(100, "ab\xE2\x82", 1);
    EXPECT_EQ(base64_decode(kept.base64.value_or("")), "ab\xE2\x82");
}

// A limit of zero keeps nothing and still counts.
TEST(OutputCapture, counts_with_no_room_at_all) {
    auto kept = capture(0, "hello", 2);
    EXPECT_TRUE(kept.truncated);
    EXPECT_EQ(kept.total_bytes, 5);
    EXPECT_EQ(missing_bytes(kept.text), 5);
}

// Binary output longer than the limit: the true number of bytes, and the kept ones exactly.
TEST(OutputCapture, cuts_binary_output_too) {
    std::string bytes;
    for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>(0x80 + i % 64);
    auto kept = capture(4096, bytes, 777);
    EXPECT_TRUE(kept.truncated);
    ASSERT_TRUE(kept.base64);
    auto exact = base64_decode(*kept.base64).value_or("");
    EXPECT_EQ(exact.substr(0, 2000), bytes.substr(0, 2000));
    EXPECT_EQ(exact.substr(exact.size() - 1900), bytes.substr(bytes.size() - 1900));
}

}  // namespace
}  // namespace sandbox::runtime
