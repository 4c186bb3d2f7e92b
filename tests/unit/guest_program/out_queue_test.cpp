#include "out_queue.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <sandbox/guest/reader.hpp>

#include "fd.hpp"

namespace sandbox::guest {
namespace {

struct Pipe {
    Pipe() {
        std::array<int, 2> fds{};
        if (pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
        read = Fd(fds[0]);
        write = Fd(fds[1]);
    }
    void put(const std::string& bytes) const {
        ASSERT_EQ(::write(write.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    [[nodiscard]] std::string drain() const {
        std::string all;
        std::array<char, 8192> buffer{};
        for (ssize_t count = 0; (count = ::read(read.get(), buffer.data(), buffer.size())) > 0;)
            all.append(buffer.data(), static_cast<std::size_t>(count));
        return all;
    }

    Fd read;
    Fd write;
};

// What is read straight into the queue is the frame that append_frame would have made.
TEST(OutQueue, reads_into_whole_frames) {
    const Pipe from;
    from.put("hello");
    OutQueue queue;
    append_frame(queue.bytes(), FrameType::started, 3);

    EXPECT_EQ(queue.read_frame(from.read.get(), FrameType::output, 3, 4), 4);
    EXPECT_EQ(queue.read_frame(from.read.get(), FrameType::output, 3, 100), 1);
    EXPECT_EQ(queue.read_frame(from.read.get(), FrameType::output, 3, 100), -1);
    EXPECT_EQ(errno, EAGAIN);

    std::string expected;
    append_frame(expected, FrameType::started, 3);
    append_frame(expected, FrameType::output, 3, "hell");
    append_frame(expected, FrameType::output, 3, "o");
    EXPECT_EQ(queue.bytes(), expected);
}

// A reader that takes a little at a time gets every byte in order, while more comes in at the other end.
TEST(OutQueue, partial_writes_lose_nothing) {
    const Pipe to;
    OutQueue queue;
    std::string expected;
    std::string received;
    for (int i = 0; i < 300; ++i) {
        const std::string payload(5000, static_cast<char>('a' + i % 26));
        append_frame(queue.bytes(), FrameType::output, 1, payload);
        append_frame(expected, FrameType::output, 1, payload);
        ASSERT_TRUE(queue.write_to(to.write.get()));
        if (i % 3 == 0) received += to.drain();
    }
    while (!queue.empty()) {
        ASSERT_TRUE(queue.write_to(to.write.get()));
        received += to.drain();
    }
    received += to.drain();

    EXPECT_TRUE(received == expected);
}

TEST(OutQueue, has_room_until_its_bound) {
    OutQueue queue;
    EXPECT_TRUE(queue.has_room());
    while (queue.has_room()) append_frame(queue.bytes(), FrameType::output, 1, std::string(kMaxPayload, 'x'));

    EXPECT_LT(queue.size(), OutQueue::kRoom + kMaxFrame);
    queue.clear();
    EXPECT_TRUE(queue.empty());
}

TEST(OutQueue, a_closed_reader_is_told) {
    Pipe to;
    to.read.reset();
    std::signal(SIGPIPE, SIG_IGN);
    OutQueue queue;
    append_frame(queue.bytes(), FrameType::ready, 0);

    EXPECT_FALSE(queue.write_to(to.write.get()));
}

}  // namespace
}  // namespace sandbox::guest
