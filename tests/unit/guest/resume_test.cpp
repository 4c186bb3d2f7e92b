// A worker can die at any byte, and so can what it had written or the guest had answered. The next one attaches to the
// same streams and must find a clean start on both.
#include <random>

#include <gtest/gtest.h>

#include <sandbox/guest/messages.hpp>

#include "readers.hpp"

namespace sandbox::guest::test {
namespace {

std::string attach(char nonce) {
    std::string bytes;
    append_attach(bytes, {.nonce = Nonce{nonce}});
    return bytes;
}

std::string session_of_a_host_that_will_die() {
    std::string bytes;
    append_frame(bytes, FrameType::input, 5, "some input");
    append_frame(bytes, FrameType::kill, 5);
    append_bytes(bytes, FrameType::input, 6, std::string(300, '\0'));
    return bytes;
}

// Wherever the former host was cut off, the guest never acts on half a frame and understands the next hello.
TEST(Resume, the_guest_gets_past_a_host_that_died_in_mid_frame) {
    const auto former = session_of_a_host_that_will_die();
    GuestReader whole;
    const auto all = read_all(whole, former);

    for (std::size_t cut = 0; cut <= former.size(); cut += cut < 80 ? 1 : 13) {
        GuestReader reader;
        auto frames = read_all(reader, former.substr(0, cut) + attach('b'));

        ASSERT_FALSE(frames.empty()) << "cut at " << cut;
        EXPECT_EQ(frames.back().type, FrameType::hello) << "cut at " << cut;
        EXPECT_EQ(decode_host_hello(frames.back().payload)->nonce, Nonce{'b'});
        frames.pop_back();
        ASSERT_LE(frames.size(), all.size());
        EXPECT_TRUE(std::equal(frames.begin(), frames.end(), all.begin())) << "cut at " << cut;
    }
}

// The same when the cut frame is the longest there is, in its last byte or its first.
TEST(Resume, the_flush_is_long_enough_for_the_longest_frame) {
    std::string longest;
    append_frame(longest, FrameType::input, 1, std::string(kMaxPayload, 'x'));

    for (const std::size_t cut : {std::size_t{1}, kHeaderSize, kHeaderSize + 1, longest.size() - 1}) {
        GuestReader reader;
        const auto frames = read_all(reader, longest.substr(0, cut) + attach('b'), 1000);
        ASSERT_EQ(frames.size(), 1U) << "cut at " << cut;
        EXPECT_EQ(frames[0].type, FrameType::hello);
    }
}

// Rubbish, then a new host: the guest comes back, whatever was in between.
TEST(Resume, the_guest_comes_back_from_any_garbage) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        std::string garbage(random() % 200'000, '\0');
        for (auto& byte : garbage) byte = static_cast<char>(random());

        GuestReader reader;
        const auto frames = read_all(reader, garbage + attach('b'), 7000);

        ASSERT_FALSE(frames.empty());
        EXPECT_EQ(frames.back().type, FrameType::hello);
        EXPECT_FALSE(reader.hunting());
    }
}

// What a user pipes into a command can hold a flush and a hello of its own; it stays data, on the hunt too.
TEST(Resume, input_of_a_command_can_not_pose_as_a_host) {
    std::string bytes;
    append_bytes(bytes, FrameType::input, 1, attach('x') + attach('x'));

    for (const std::string_view before : {"", "garbage"}) {
        GuestReader reader;
        for (const auto& frame : read_all(reader, std::string(before) + bytes)) EXPECT_EQ(frame.type, FrameType::input);
    }
}

// The host skips half a frame, old output and even an old hello until the answer to its own nonce.
TEST(Resume, the_host_skips_what_a_former_session_left) {
    std::string former;
    append_guest_hello(former, {.nonce = Nonce{'a'}});
    append_frame(former, FrameType::output, 1, std::string(5000, 'o'));
    append_frame(former, FrameType::exited, 1, "123456");
    std::string current;
    append_guest_hello(current, {.nonce = Nonce{'b'}, .uid = 1000});
    append_frame(current, FrameType::ready, 0);

    for (std::size_t from = 0; from < former.size(); from += 11) {
        for (const std::size_t step : {std::size_t{3}, SIZE_MAX}) {
            HostReader reader(Nonce{'b'});
            const auto frames = read_all(reader, former.substr(from) + current, step);
            ASSERT_EQ(frames.size(), 2U) << "from byte " << from;
            EXPECT_EQ(decode_guest_hello(frames[0].payload)->uid, 1000U);
            EXPECT_EQ(frames[1].type, FrameType::ready);
            EXPECT_EQ(reader.skipped(), former.size() - from);
        }
    }
}

// Megabytes of garbage before the answer cost the host no memory but its one buffer.
TEST(Resume, the_host_skips_any_amount) {
    HostReader reader(Nonce{'b'});
    const std::string garbage(100'000, static_cast<char>(0xA7));
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(read_all(reader, garbage).empty());
    std::string current;
    append_guest_hello(current, {.nonce = Nonce{'b'}});

    EXPECT_EQ(read_all(reader, current).size(), 1U);
}

}  // namespace
}  // namespace sandbox::guest::test
