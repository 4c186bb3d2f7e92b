#include <gtest/gtest.h>

#include <sandbox/guest/start.hpp>

#include "readers.hpp"

namespace sandbox::guest::test {
namespace {

Start a_start() {
    return {.argv = {"sh", "-c", "echo \"$A\"", "", "two\nlines", "*"},
            .cwd = "/workspace/sub dir",
            .env = {"A=1", "EMPTY=", "TWO=a\nb=c"},
            .time_limit_ms = 2000,
            .output_credit = 1,
            .error_credit = 2,
            .keep = 3,
            .input = true};
}

// Sends a start through the frames, as a guest receives it.
std::expected<Start, StartError> through_frames(const Start& start) {
    std::string bytes;
    EXPECT_TRUE(append_start(bytes, 7, start));
    GuestReader reader;
    StartAssembly assembly;
    std::expected<Start, StartError> result = std::unexpected(StartError::malformed);
    for (const auto& frame : read_all(reader, bytes)) {
        EXPECT_EQ(frame.id, 7U);
        if (frame.type == FrameType::start_part) assembly.add(frame.id, frame.payload);
        if (frame.type == FrameType::start) result = assembly.finish(frame.id, frame.payload);
    }
    return result;
}

TEST(Start, arrives_byte_for_byte) {
    EXPECT_EQ(through_frames(a_start()), a_start());
}

// The kernel's longest argument, several of them, and many small ones.
TEST(Start, long_arguments_take_several_frames) {
    auto start = a_start();
    start.argv.insert(start.argv.end(), 5, std::string(131'071, 'x'));
    start.env.insert(start.env.end(), 20'000, "N=1");

    EXPECT_EQ(through_frames(start), start);
}

TEST(Start, what_no_kernel_would_take_is_not_sent) {
    auto start = a_start();
    start.argv.insert(start.argv.end(), 40, std::string(131'071, 'x'));
    std::string bytes;

    EXPECT_FALSE(append_start(bytes, 1, start));
    EXPECT_TRUE(bytes.empty());
}

// A host that sends it all the same gets an answer, and the guest keeps no more than the limit meanwhile.
TEST(Start, a_start_without_end_is_bounded) {
    StartAssembly assembly;
    for (int i = 0; i < 1000; ++i) assembly.add(1, std::string(kMaxPayload, 'x'));

    EXPECT_EQ(assembly.finish(1, "x").error(), StartError::too_long);
    EXPECT_EQ(assembly.finish(1, "x").error(), StartError::malformed);
}

// Half a start of a host that died does not become part of another's.
TEST(Start, pieces_of_another_start_are_dropped) {
    std::string bytes;
    ASSERT_TRUE(append_start(bytes, 7, a_start()));
    StartAssembly assembly;
    assembly.add(6, "half of something");
    GuestReader reader;

    EXPECT_EQ(assembly.finish(7, read_all(reader, bytes).front().payload), a_start());
}

TEST(Start, what_can_not_be_run_is_refused) {
    const auto refused = [](const Start& start) { return through_frames(start).error() == StartError::malformed; };
    const auto with = [](auto change) {
        auto start = a_start();
        change(start);
        return start;
    };

    EXPECT_TRUE(refused(with([](Start& s) { s.argv.clear(); })));
    EXPECT_TRUE(refused(with([](Start& s) { s.argv.emplace_back("a\0b", 3); })));
    EXPECT_TRUE(refused(with([](Start& s) { s.cwd = std::string("\0", 1); })));
    EXPECT_TRUE(refused(with([](Start& s) { s.env.emplace_back("NO_VALUE"); })));
    EXPECT_TRUE(refused(with([](Start& s) { s.env.emplace_back("=x"); })));
    EXPECT_TRUE(refused(with([](Start& s) { s.env.emplace_back(); })));
}

// A count that promises more strings than there are bytes allocates nothing for them.
TEST(Start, cut_or_lying_bytes_are_refused) {
    std::string frames;
    ASSERT_TRUE(append_start(frames, 1, a_start()));
    GuestReader reader;
    const auto payload = read_all(reader, frames).front().payload;

    for (std::size_t length = 0; length < payload.size(); ++length)
        EXPECT_FALSE(decode_start(std::string_view(payload).substr(0, length)));
    EXPECT_FALSE(decode_start(payload + 'x'));
    EXPECT_FALSE(decode_start(std::string(17, '\0') + std::string(4, '\0') + "\xff\xff\xff\xff"));
}

}  // namespace
}  // namespace sandbox::guest::test
