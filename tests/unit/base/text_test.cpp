#include <gtest/gtest.h>

#include <sandbox/base/text.hpp>

namespace sandbox {
namespace {

// The RFC's own examples, and every byte value.
TEST(Base64, encodes_and_decodes) {
    const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
    for (const auto& [bytes, text] : cases) {
        EXPECT_EQ(base64_encode(bytes), text);
        EXPECT_EQ(base64_decode(text), bytes);
    }
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    EXPECT_EQ(base64_decode(base64_encode(all)), all);
}

TEST(Base64, refuses_what_is_not_its_one_right_form) {
    for (auto text :
         {"Z", "Zg", "Zg=", "Zg===", "=Zg=", "Zg==Zg==", "Zm9v\n", "Zm 9v", "Zm-_", "Zh==", "Zm9=", "====", "A==="})
        EXPECT_FALSE(base64_decode(text)) << text;
}

TEST(Utf8, tells_well_formed_from_ill_formed) {
    for (auto text : {"", "plain", "grüße", "日本語", "😀", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"})
        EXPECT_TRUE(is_utf8(text));
    for (auto text : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                      "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "a\xf0\x9f\x98"})
        EXPECT_FALSE(is_utf8(text));
}

// One replacement for each sequence that breaks off, as browsers do; good text stays.
TEST(Utf8, replaces_ill_formed_sequences) {
    EXPECT_EQ(to_utf8("good 日本"), "good 日本");
    EXPECT_EQ(to_utf8("a\xffz"), "a\uFFFDz");
    EXPECT_EQ(to_utf8("\xf0\x9f\x98z"), "\uFFFDz");
    EXPECT_EQ(to_utf8("\xe2\x82"), "\uFFFD");
    EXPECT_EQ(to_utf8("\xc0\xaf"), "\uFFFD\uFFFD");
    EXPECT_TRUE(is_utf8(to_utf8("\xed\xa0\x80\xf4\x90\x80\x80")));
}

TEST(Nearest, finds_the_slip_and_the_beginning) {
    constexpr std::string_view kFields[] = {"cpu_millis", "memory_mib", "disk_mib", "pids", "ttl_seconds", "labels"};

    EXPECT_EQ(nearest("memory_mb", kFields), "memory_mib");
    EXPECT_EQ(nearest("lables", kFields), "labels");
    EXPECT_EQ(nearest("memry", kFields), "memory_mib");
    EXPECT_EQ(nearest("ttl", kFields), "ttl_seconds");
    EXPECT_FALSE(nearest("volumes", kFields));
    EXPECT_FALSE(nearest("xy", kFields));
    EXPECT_FALSE(nearest("", kFields));
    EXPECT_FALSE(nearest(std::string(1000, 'p'), kFields));
}

TEST(Shortened, cuts_between_characters_and_counts_its_mark) {
    EXPECT_EQ(shortened("short", 5), "short");
    EXPECT_EQ(shortened("longer text", 8), "longe…");
    EXPECT_EQ(shortened("日本語日本語", 10), "日本…");
    EXPECT_EQ(shortened("日本語", 2), "");
    EXPECT_EQ(shortened("abc", 0), "");
}

}  // namespace
}  // namespace sandbox
