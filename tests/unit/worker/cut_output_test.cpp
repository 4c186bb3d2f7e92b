#include <worker/reports.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/base/text.hpp>

namespace sandbox::sandboxd {
namespace {

using testing::EndsWith;
using testing::StartsWith;

// The longer stream is halved, the shorter one stays as far as it fits, and the totals stay true.
TEST(CutOutput, keeps_beginning_and_end) {
    domain::Output output;
    output.stdout_text = "first" + std::string(8000, '.') + "last";
    output.stderr_text = "short";
    output.stdout_bytes = 8009;

    EXPECT_TRUE(cut_output(output));

    EXPECT_LE(output.stdout_text.size(), 4004);
    EXPECT_THAT(output.stdout_text, StartsWith("first"));
    EXPECT_THAT(output.stdout_text, EndsWith("last"));
    EXPECT_EQ(output.stderr_text, "short");
    EXPECT_TRUE(output.truncated);
    EXPECT_EQ(output.stdout_bytes, 8009);
}

TEST(CutOutput, keeps_text_and_exact_bytes_together) {
    domain::Output output;
    const std::string bytes = std::string(4000, '\xff') + "end";
    output.stdout_text = to_utf8(bytes);
    output.stdout_base64 = base64_encode(bytes);

    EXPECT_TRUE(cut_output(output));

    ASSERT_TRUE(output.stdout_base64);
    EXPECT_EQ(to_utf8(*base64_decode(*output.stdout_base64)), output.stdout_text);
}

// However small the controller's limit is, cutting comes to an end.
TEST(CutOutput, ends_with_nothing) {
    domain::Output output;
    output.stdout_text = std::string(1'000'000, 'x');
    output.stderr_text = "e";
    int cuts = 0;
    while (cut_output(output) && cuts < 100) ++cuts;
    EXPECT_LT(cuts, 30);
    EXPECT_EQ(output.stdout_text, "");
    EXPECT_EQ(output.stderr_text, "");
}

}  // namespace
}  // namespace sandbox::sandboxd
