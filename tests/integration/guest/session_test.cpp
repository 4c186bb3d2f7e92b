// Hosts come and go; the guest answers whoever is there, and loses no answer.
#include <csignal>
#include <random>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>

#include <gtest/gtest.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

using namespace std::chrono_literals;

// The former host had started two execs and died; one ended while nobody was there.
TEST(Session, the_next_host_learns_what_lives_and_what_has_ended) {
    Sandbox sandbox;
    auto former = std::make_unique<Host>(sandbox);
    former->acknowledge = false;
    const auto lives = former->start_shell("sleep 60");
    const auto ended = former->start_shell("exit 3");
    const auto failed = former->start({"nonesuch"});
    former->finish(ended);
    former->finish(failed);
    const auto ends_alone = former->start_shell("sleep 0.3; exit 4");
    ASSERT_TRUE(former->wait([&] { return former->exec(ends_alone).started; }));
    former.reset();
    std::this_thread::sleep_for(600ms);

    Host host(sandbox);
    EXPECT_EQ(host.running, std::vector{lives});
    EXPECT_EQ(host.exec(ended).code(), 3);
    EXPECT_EQ(host.exec(failed).code(), 127);
    EXPECT_EQ(host.exec(ends_alone).code(), 4);
    host.kill(lives);
    EXPECT_TRUE(host.finish(lives).exited->killed);

    // All have been acknowledged: the next but one hears of none.
    ASSERT_TRUE(host.wait([&] { return sandbox.process_count() == 0; }));
    Host later(sandbox);
    EXPECT_TRUE(later.running.empty());
    EXPECT_THROW((void)later.exec(ended), std::out_of_range);
}

// A host that died in the middle of a frame, at every kind of place, while output was under way.
TEST(Session, a_host_may_die_at_any_byte) {
    Sandbox sandbox;
    std::mt19937 random(7);
    for (int round = 0; round < 40; ++round) {
        {
            Host host(sandbox);
            (void)host.start_shell("seq 1 100000");
            std::string last;
            ASSERT_TRUE(append_start(last, 5, {.argv = {"sh", "-c", std::string(100'000, 'x')}}));
            append_bytes(last, FrameType::input, 5, std::string(100'000, 'y'));
            host.send_raw(std::string_view(last).substr(0, random() % last.size()));
        }
        Host host(sandbox);
        for (const auto id : host.running) {
            host.kill(id);
            host.finish(id);
        }
        EXPECT_EQ(host.shell("echo hi").output, "hi\n");
    }
}

// Whatever comes in: it neither ends nor hangs nor grows, and the next host is served.
TEST(Session, hostile_bytes_change_nothing) {
    Sandbox sandbox;
    std::mt19937 random(3);
    const auto before = [&] {
        Host host(sandbox);
        host.shell("true");
        return sandbox.memory_kib();
    }();
    for (int round = 0; round < 30; ++round) {
        Host host(sandbox);
        std::string bytes;
        for (int i = 0; i < 300; ++i) {
            std::string payload(random() % 200, '\0');
            for (auto& byte : payload) byte = static_cast<char>(random());
            append_frame(bytes, static_cast<FrameType>(random() % 50), random() % 3, payload);
        }
        if (round % 2 == 1)
            for (auto& byte : bytes)
                if (random() % 500 == 0) byte = static_cast<char>(random());
        host.send_raw(bytes);
        (void)host.wait([] { return false; }, 20ms);
    }
    Host host(sandbox);
    EXPECT_EQ(host.shell("echo hi").output, "hi\n");
    EXPECT_LE(sandbox.memory_kib(), before + 1024);
}

// The same start twice, as after a lost answer, runs once.
TEST(Session, a_start_sent_twice_runs_once) {
    Sandbox sandbox;
    Host host(sandbox);
    std::string frames;
    ASSERT_TRUE(append_start(frames, 77, {.argv = {"sh", "-c", "echo x >> n"}}));
    host.send_raw(frames + frames);

    EXPECT_EQ(host.shell("sleep 0.3; cat n").output, "x\n");
}

// Input beyond what was granted is refused without any growth.
TEST(Session, input_beyond_the_credit_is_refused) {
    Sandbox sandbox;
    Host host(sandbox);
    const auto id = host.start({"sleep", "60"}, {.input = true});
    ASSERT_TRUE(host.wait([&] { return host.exec(id).started; }));
    for (int i = 0; i < 300; ++i) host.send(FrameType::input, id, std::string(kMaxPayload, 'x'));

    EXPECT_EQ(host.shell("echo hi").output, "hi\n");
    EXPECT_LT(sandbox.memory_kib(), 2048U);
    host.kill(id);
    host.finish(id);
}

// Answers that nobody acknowledges are bounded; there is room again after acknowledgements.
TEST(Session, a_host_that_acknowledges_nothing_is_stopped) {
    Sandbox sandbox;
    Host host(sandbox);
    host.acknowledge = false;
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < kMaxUnacknowledged; ++i) {
        const auto id = host.start({"/nonesuch"});
        if (first == 0) first = id;
        ASSERT_EQ(host.finish(id).failed->kind, Failure::not_found);
    }
    EXPECT_EQ(host.run({"true"}).failed->kind, Failure::busy);
    host.ack(first);
    EXPECT_EQ(host.run({"true"}).code(), 0);
}

// The end of the stream from the host ends nothing.
TEST(Session, the_guest_outlives_its_stream) {
    Sandbox sandbox;
    {
        Host host(sandbox);
        host.shell("sleep 300 & exit");
    }
    shutdown(sandbox.stream(), SHUT_RDWR);
    std::this_thread::sleep_for(300ms);
    const auto before = sandbox.cpu_seconds();
    std::this_thread::sleep_for(500ms);

    EXPECT_EQ(sandbox.commands().size(), 1U);
    EXPECT_LT(sandbox.cpu_seconds() - before, 0.05);
}

// Idle, it uses nothing.
TEST(Session, an_idle_guest_sleeps) {
    Sandbox sandbox;
    Host host(sandbox);
    host.shell("sleep 300 & exit");
    const auto before = sandbox.cpu_seconds();
    std::this_thread::sleep_for(500ms);

    EXPECT_LT(sandbox.cpu_seconds() - before, 0.02);
    std::printf("the guest's own memory: %zu KiB\n", sandbox.memory_kib());
}

// An engine's stop is quick: SIGTERM from outside ends it, from inside it does not (Kill tests that).
TEST(Session, sigterm_from_outside_ends_it) {
    Sandbox sandbox;
    Host host(sandbox);
    kill(sandbox.pid(), SIGTERM);

    EXPECT_EQ(sandbox.wait(), 0);
}

}  // namespace
}  // namespace sandbox::guest::test
