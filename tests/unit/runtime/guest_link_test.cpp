// The worker's end of the link to a guest: commands over a stream that may break at any moment.
#include "guest_link_fixture.hpp"

namespace sandbox::runtime {
namespace {

TEST_F(GuestLinkTest, runs_a_command) {
    guest().open();
    auto result = begin(command());
    auto id = started_id(guest().take());
    guest().say(FrameType::started, id);
    guest().say(FrameType::output, id, "hello");
    guest().say(FrameType::error_output, id, "oops");
    guest().exited(id, {.code = 3});
    guest();
    ASSERT_TRUE(result->has_value());
    ASSERT_TRUE(**result);
    EXPECT_EQ((**result)->output.stdout_text, "hello");
    EXPECT_EQ((**result)->output.stderr_text, "oops");
    EXPECT_EQ((**result)->output.exit_code, 3);
    auto next = begin(command());
    EXPECT_TRUE(holds(guest().take(), FrameType::ack, id)) << "it goes with what is sent next";
}

// What a guest skips is counted, and the output says that it is missing.
TEST_F(GuestLinkTest, counts_what_was_skipped) {
    guest().open();
    auto result = begin(command());
    auto id = started_id(guest().take());
    guest().say(FrameType::started, id);
    guest().say(FrameType::output, id, "first\n");
    std::string skipped;
    guest::append_skipped(skipped, id, {.stream = guest::Stream::output, .bytes = 5'000'000'000});
    guest().to_link->put(skipped);
    guest().say(FrameType::output, id, "last\n");
    guest().exited(id, {});
    test::settle(io_);
    ASSERT_TRUE(result->has_value());
    ASSERT_TRUE(**result);
    EXPECT_EQ((**result)->output.stdout_bytes, 5'000'000'011);
    EXPECT_TRUE((**result)->output.truncated);
    EXPECT_EQ((**result)->output.stdout_text, "first\n[... 5000000000 bytes are missing here ...]\nlast\n");
}

// Input goes as the guest grants it, and then its end; no byte of it twice.
// Past its first half, what a command wrote comes with its end: of one whose sandbox goes there was more.
TEST_F(GuestLinkTest, does_not_take_what_was_cut_off_for_all) {
    guest().open();
    const auto quiet = begin(command());
    const auto quiet_id = started_id(guest().take());
    const auto loud = begin(command());
    const auto loud_id = started_id(guest().take());
    guest().say(FrameType::output, quiet_id, std::string(100, 'x'));
    guest().say(FrameType::output, loud_id, std::string(600, 'x'));
    test::settle(io_);

    link_->close(Error(Code::cancelled, "the sandbox is deleted"));
    test::settle(io_);

    EXPECT_FALSE((*quiet)->value().output.truncated);
    EXPECT_TRUE((*loud)->value().output.truncated);
    EXPECT_EQ((*loud)->value().output.stdout_bytes, 600);
}

TEST_F(GuestLinkTest, sends_input_as_it_is_granted) {
    guest().open();
    auto result = begin(command(std::string(guest::kInputWindow + 10, 'x')));
    auto sent = guest().take();
    auto id = started_id(sent);
    std::size_t bytes = 0;
    for (const auto& frame : sent)
        if (frame.type == FrameType::input) bytes += frame.payload.size();
    EXPECT_EQ(bytes, guest::kInputWindow);
    EXPECT_FALSE(holds(sent, FrameType::end_of_input, id));
    std::string credit;
    guest::append_credit(credit, id, {.stream = guest::Stream::input, .bytes = 4096});
    guest().to_link->put(credit);
    sent = guest().take();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[0].payload.size(), 10U);
    EXPECT_EQ(sent[1].type, FrameType::end_of_input);
    guest().exited(id, {});
    guest();
    EXPECT_TRUE(result->has_value());
}

// A broken stream is attached again; the command lives on, is granted credit anew, and ends as it does.
TEST_F(GuestLinkTest, attaches_again_when_the_stream_breaks) {
    guest().open();
    auto result = begin(command());
    auto id = started_id(guest().take());
    guest().say(FrameType::started, id);
    guest().say(FrameType::output, id, "one ");
    guest().to_link->end();
    ASSERT_EQ((guest(), guests_.size()), 2U);
    std::string running;
    guest::append_frame(running, FrameType::running, id);
    guest().open(running);
    auto sent = guest().take();
    EXPECT_TRUE(holds(sent, FrameType::credit, id));
    EXPECT_FALSE(holds(sent, FrameType::start, id));
    guest().say(FrameType::output, id, "two");
    guest().exited(id, {});
    guest();
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((**result)->output.stdout_text, "one two");
}

// A start that was lost with the stream is sent again; the guest runs none twice.
TEST_F(GuestLinkTest, sends_a_lost_start_again) {
    guest().open();
    auto result = begin(command());
    auto id = started_id(guest().take());
    guest().to_link->end();
    EXPECT_EQ(started_id(guest().take()), id);
    guest().exited(id, {});
    guest();
    EXPECT_FALSE(result->has_value());  // that guest has not answered the opening yet
    guest().open();
    guest().exited(id, {});
    guest();
    EXPECT_TRUE(result->has_value());
}

// How a command ended that the guest no longer knows is not made up.
TEST_F(GuestLinkTest, does_not_know_the_end_of_a_forgotten_command) {
    guest().open();
    auto result = begin(command());
    auto id = started_id(guest().take());
    guest().say(FrameType::started, id);
    guest().to_link->end();
    guest().open();
    guest();
    ASSERT_TRUE(result->has_value());
    ASSERT_FALSE(**result);
    EXPECT_THAT((**result).error().message(), HasSubstr("not known"));
}

// Commands that a former process had begun are killed, and their answers acknowledged.
TEST_F(GuestLinkTest, ends_what_a_former_process_began) {
    std::string former;
    guest::append_frame(former, FrameType::running, 4711);
    guest().open(former);
    EXPECT_TRUE(holds(guest().take(), FrameType::kill, 4711));
    guest().exited(4711, {.signal = 9, .killed = true});
    auto next = begin(command());
    EXPECT_TRUE(holds(guest().take(), FrameType::ack, 4711));
}

TEST_F(GuestLinkTest, kills_on_cancel) {
    guest().open();
    auto result = begin(command());
    auto id = started_id(guest().take());
    link_->cancel(operation_);
    EXPECT_TRUE(holds(guest().take(), FrameType::kill, id));
    guest().exited(id, {.signal = 9, .killed = true});
    guest();
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((**result)->output.exit_code, 137);
    EXPECT_EQ((**result)->error, "cancelled");
}

TEST_F(GuestLinkTest, tells_why_the_sandbox_is_gone) {
    guest().open();
    auto result = begin(command());
    guest().take();
    gone_ = true;
    guest().to_link->end();
    test::settle(io_);
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((**result).error().message(), "it ended with status 137");
    EXPECT_EQ(changes_, 1);
    EXPECT_FALSE(link_->is_hostile());
    auto late = begin(command());
    EXPECT_EQ((**late).error().message(), "it ended with status 137");
}

TEST_F(GuestLinkTest, refuses_another_version) {
    guest().version = guest::kProtocolVersion + 1;
    guest().open();
    test::settle(io_);
    ASSERT_TRUE(link_->ended());
    EXPECT_THAT(link_->ended()->message(), HasSubstr("version"));
}

// Frames of commands and connections that are over cross with our own: they mean nothing.
TEST_F(GuestLinkTest, ignores_what_is_over) {
    guest().open();
    guest().say(FrameType::output, 4242, "late");
    guest().say(FrameType::data, 4242, "late");
    guest().exited(4242, {});
    guest();
    EXPECT_FALSE(link_->ended());
}

// The sixty-fifth waits for its turn, in order; one that is cancelled while it waits never runs.
TEST_F(GuestLinkTest, lets_commands_wait_their_turn) {
    guest().open();
    std::vector<Pending> all;
    for (std::size_t i = 0; i < guest::kMaxExecs; ++i) all.push_back(begin(command()));
    auto waits = begin(command());
    auto cancelled = begin(command());
    link_->cancel(operation_);
    test::settle(io_);
    ASSERT_TRUE(cancelled->has_value());
    EXPECT_EQ((**cancelled)->output.exit_code, 137);
    auto sent = guest().take();
    EXPECT_EQ(std::ranges::count(sent, FrameType::start, &ScriptedGuest::Sent::type),
              static_cast<std::ptrdiff_t>(guest::kMaxExecs));
    guest().exited(sent.back().id, {});
    EXPECT_NE(started_id(guest().take()), 0U);
    EXPECT_FALSE(waits->has_value());
}

}  // namespace
}  // namespace sandbox::runtime
