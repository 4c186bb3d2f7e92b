// Standard input, through the real command.
#include "fixture.hpp"

namespace sandbox::test {
namespace {

class Input : public Lifecycle {};

std::string five_mebibytes() {
    std::string bytes(std::size_t{5} * 1024 * 1024, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((i * 2654435761U) >> 13U);
    return bytes;
}

TEST_F(Input, is_at_its_end_when_none_is_given) {
    const auto ended = cli({"exec", x(), "--", "cat"});
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.out, "");
}

TEST_F(Input, arrives_byte_for_byte) {
    const auto bytes = five_mebibytes();
    const auto here = run_program({.argv = {"sha256sum"}, .input = bytes});
    const auto there = cli({"exec", x(), "--stdin", "--", "sha256sum"}, bytes);
    EXPECT_EQ(there.status, 0) << there.err;
    EXPECT_EQ(there.out, here.out);
}

TEST_F(Input, that_nobody_reads_hangs_nobody) {
    const auto ended = cli({"exec", x(), "--stdin", "--", "true"}, five_mebibytes());
    EXPECT_EQ(ended.status, 0) << ended.err;
}

TEST_F(Input, comes_back_byte_for_byte_on_the_right_stream) {
    const std::string bytes("\x00\xff\xfe plain \x80", 11);
    const auto ended = cli({"exec", x(), "--stdin", "--", "sh", "-c", "cat; echo aside >&2; exit 7"}, bytes);
    EXPECT_EQ(ended.status, 7);
    EXPECT_EQ(ended.out, bytes);
    EXPECT_EQ(ended.err.substr(0, 6), "aside\n");
}

}  // namespace
}  // namespace sandbox::test
