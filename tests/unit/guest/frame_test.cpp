#include <random>

#include <gtest/gtest.h>

#include <sandbox/guest/messages.hpp>

#include "readers.hpp"

namespace sandbox::guest::test {
namespace {

std::vector<KeptFrame> some_frames() {
    return {{FrameType::input, 7, "hello"},
            {FrameType::end_of_input, 7, ""},
            {FrameType::input, UINT64_MAX, std::string(kMaxPayload, '\0')},
            {FrameType::kill, 1, ""},
            {FrameType::data, 2, std::string("\xA7\x5A\0\n", 4)}};
}

std::string written(const std::vector<KeptFrame>& frames) {
    std::string bytes;
    for (const auto& frame : frames) append_frame(bytes, frame.type, frame.id, frame.payload);
    return bytes;
}

// A worker in another language must be able to speak it: these are the bytes.
TEST(Frame, is_laid_out_as_documented) {
    std::string bytes;
    append_frame(bytes, FrameType::input, 0x0102030405060708, "ab");

    EXPECT_EQ(bytes, std::string("\xA7\x04\x02\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01"
                                 "ab\x5A",
                                 17));
}

// Frames come out as they went in, wherever the stream cuts them.
TEST(Frame, survives_every_kind_of_fragmentation) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{13}, std::size_t{4096}, SIZE_MAX}) {
        GuestReader reader;
        EXPECT_EQ(read_all(reader, written(some_frames()), step), some_frames()) << "in steps of " << step;
    }
}

// Three megabytes through the same buffer: it is reused, and never runs full.
TEST(Frame, a_long_stream_needs_one_buffer) {
    std::string bytes;
    append_bytes(bytes, FrameType::input, 3, std::string(3'000'000, 'x'));

    GuestReader reader;
    std::size_t total = 0;
    feed(reader, bytes, 50'000, [&] {
        while (const auto frame = reader.next()) total += frame->payload.size();
    });

    EXPECT_EQ(total, 3'000'000U);
}

// More bytes than fit one frame are spread over several, in order.
TEST(Frame, long_bytes_are_cut_into_frames) {
    std::string bytes;
    append_bytes(bytes, FrameType::data, 9, std::string(kMaxPayload, 'a') + "b");

    GuestReader reader;
    EXPECT_EQ(read_all(reader, bytes),
              (std::vector<KeptFrame>{{FrameType::data, 9, std::string(kMaxPayload, 'a')}, {FrameType::data, 9, "b"}}));
}

// A guest that breaks the framing after its hello is told apart, and stays broken.
TEST(Frame, a_host_reports_broken_framing_for_ever) {
    const auto fault_of = [](std::string_view broken) {
        std::string bytes;
        append_guest_hello(bytes, {.nonce = {'n'}});
        bytes += broken;
        append_frame(bytes, FrameType::ready, 0);
        HostReader reader(Nonce{'n'});
        EXPECT_EQ(read_all(reader, bytes).size(), 1U);
        return reader.next().error();
    };
    std::string too_long;
    append_frame(too_long, FrameType::output, 1, "x");
    too_long[5] = 1;
    std::string no_end;
    append_frame(no_end, FrameType::output, 1, "x");
    no_end.back() = 'x';

    EXPECT_EQ(fault_of("x"), Fault::bad_begin);
    EXPECT_EQ(fault_of(std::string(1, '\0')), Fault::bad_begin);
    EXPECT_EQ(fault_of(too_long), Fault::too_long);
    EXPECT_EQ(fault_of(no_end), Fault::bad_end);
}

TEST(FrameDeathTest, a_payload_that_is_too_long_is_a_bug_of_ours) {
    std::string bytes;
    EXPECT_DEATH(append_frame(bytes, FrameType::input, 1, std::string(kMaxPayload + 1, 'x')), "kMaxPayload");
}

}  // namespace
}  // namespace sandbox::guest::test
