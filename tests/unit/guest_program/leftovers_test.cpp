// What is still read of execs that have ended.
#include "leftovers.hpp"

#include <array>
#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace sandbox::guest {
namespace {

using namespace std::chrono_literals;

struct Pipe {
    Fd read;
    Fd write;
};

Pipe open_pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK), 0);
    return {.read = Fd(fds[0]), .write = Fd(fds[1])};
}

void turn(Leftovers& leftovers, std::chrono::milliseconds time) {
    for (const auto end = SteadyClock::now() + time; SteadyClock::now() < end;) {
        Poller poller;
        poller.wake_at(end);
        leftovers.watch(poller);
        poller.wait();
        leftovers.handle(poller);
    }
}

TEST(Leftovers, go_with_their_writers) {
    Leftovers leftovers;
    auto first = open_pipe();
    auto second = open_pipe();
    leftovers.add(std::move(first.read));
    leftovers.add(std::move(second.read));
    first.write.reset();
    turn(leftovers, 50ms);
    EXPECT_EQ(leftovers.size(), 1U);
    second.write.reset();
    turn(leftovers, 50ms);
    EXPECT_EQ(leftovers.size(), 0U);
}

// A process that has just been forked holds everything that PID 1 holds until it has closed it.
TEST(Leftovers, one_that_somebody_else_holds_too_is_counted_and_closed_once) {
    Leftovers leftovers;
    auto held = open_pipe();
    auto other = open_pipe();
    const Fd held_elsewhere(dup(held.read.get()));
    leftovers.add(std::move(held.read));
    leftovers.add(std::move(other.read));
    held.write.reset();
    turn(leftovers, 100ms);
    EXPECT_EQ(leftovers.size(), 1U);

    // Its number may be another's by now.
    const auto next = open_pipe();
    ASSERT_EQ(write(next.write.get(), "mine", 4), 4);
    turn(leftovers, 100ms);
    std::array<char, 8> bytes{};
    EXPECT_EQ(read(next.read.get(), bytes.data(), bytes.size()), 4);
    other.write.reset();
    turn(leftovers, 50ms);
    EXPECT_EQ(leftovers.size(), 0U);
}

}  // namespace
}  // namespace sandbox::guest
