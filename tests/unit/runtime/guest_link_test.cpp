#include "guest_link.hpp"

#include <deque>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>

#include <sandbox/async/task_group.hpp>
#include <sandbox/guest/start.hpp>

#include "memory_stream.hpp"
#include "support/run_task.hpp"

namespace sandbox::runtime {
namespace {

using namespace std::chrono_literals;
using guest::FrameType;
using ::testing::HasSubstr;

/// The guest's end of one attachment, played by the test frame by frame.
class ScriptedGuest {
public:
    std::shared_ptr<MemoryPipe> to_link = std::make_shared<MemoryPipe>();
    std::shared_ptr<MemoryPipe> from_link = std::make_shared<MemoryPipe>();

    /// What the link has sent since the last call; the host's hello is answered by itself.
    struct Sent {
        FrameType type{};
        std::uint64_t id = 0;
        std::string payload;
    };
    std::vector<Sent> take() {
        std::vector<Sent> frames;
        auto& bytes = from_link->bytes;
        while (!bytes.empty()) {
            auto room = reader_.prepare();
            auto count = std::min(room.size(), bytes.size());
            std::copy_n(bytes.begin(), count, room.begin());
            reader_.commit(count);
            bytes.erase(0, count);
            while (auto frame = reader_.next()) {
                frames.push_back({frame->type, frame->id, std::string(frame->payload)});
                if (frame->type == FrameType::hello) nonce = guest::decode_host_hello(frame->payload)->nonce;
            }
        }
        return frames;
    }
    /// Answers the opening; `more` is told between hello and ready.
    void open(const std::string& more = "") {
        (void)take();
        std::string answer;
        guest::GuestHello hello;
        hello.nonce = nonce;
        hello.version = version;
        guest::append_guest_hello(answer, hello);
        answer += more;
        guest::append_frame(answer, FrameType::ready, 0);
        to_link->put(answer);
    }
    void say(FrameType type, std::uint64_t id, std::string_view payload = {}) {
        std::string frame;
        guest::append_frame(frame, type, id, payload);
        to_link->put(frame);
    }
    void exited(std::uint64_t id, const guest::Exited& how) {
        std::string frame;
        guest::append_exited(frame, id, how);
        to_link->put(frame);
    }

    guest::Nonce nonce{};
    std::uint16_t version = guest::kProtocolVersion;

private:
    guest::GuestReader reader_;
};

class GuestLinkTest : public ::testing::Test {
protected:
    GuestLinkTest() {
        GuestLink::Settings settings;
        settings.attach = [this](Deadline) { return attach(); };
        settings.on_change = [this] { ++changes_; };
        link_ = std::make_shared<GuestLink>(std::move(settings), random_);
        tasks_.spawn("link", link_->run());
    }
    void TearDown() override {
        link_->close(Error(Code::cancelled, "the test is over"));
        test::run(io_, tasks_.join(in(5s)));
    }

    Task<Result<std::unique_ptr<http::Stream>>> attach() {
        if (gone_) co_return fail(Code::not_found, "it ended with status 137");
        guests_.push_back(std::make_unique<ScriptedGuest>());
        auto& guest = *guests_.back();
        co_return std::make_unique<MemoryStream>(guest.to_link, guest.from_link);
    }
    /// The latest attachment, after everything has run that can.
    ScriptedGuest& guest() {
        test::settle(io_);
        return *guests_.back();
    }
    using Pending = std::shared_ptr<std::optional<Result<ExecResult>>>;
    Pending begin(const domain::Command& command, std::size_t limit = 1000) {
        auto result = std::make_shared<std::optional<Result<ExecResult>>>();
        auto keep = [](std::shared_ptr<GuestLink> link, domain::OperationId operation, domain::Command of,
                       std::size_t most,
                       Pending into) -> Task<void> { *into = co_await link->exec(operation, of, most); };
        operation_ = domain::OperationId::make({}, random_);
        asio::co_spawn(io_, keep(link_, operation_, command, limit, result), asio::detached);
        test::settle(io_);
        return result;
    }
    static domain::Command command(std::string input = "") {
        domain::Command command;
        command.argv = {"program"};
        if (!input.empty()) command.stdin_bytes = std::move(input);
        return command;
    }
    /// The id of the only start among the frames.
    static std::uint64_t started_id(const std::vector<ScriptedGuest::Sent>& frames) {
        std::uint64_t id = 0;
        for (const auto& frame : frames)
            if (frame.type == FrameType::start) {
                EXPECT_EQ(id, 0U) << "two starts";
                id = frame.id;
            }
        EXPECT_NE(id, 0U) << "no start";
        return id;
    }
    static bool holds(const std::vector<ScriptedGuest::Sent>& frames, FrameType type, std::uint64_t id) {
        return std::ranges::any_of(frames, [&](const auto& frame) { return frame.type == type && frame.id == id; });
    }

    asio::io_context io_{1};
    SeededRandom random_{7};
    std::deque<std::unique_ptr<ScriptedGuest>> guests_;
    bool gone_ = false;
    int changes_ = 0;
    domain::OperationId operation_;
    std::shared_ptr<GuestLink> link_;
    async::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(GuestLinkTest, runs_a_command) {
    guest().open();
    auto result = begin(command());
    auto id = started_id(guest().take());
    guest().say(FrameType::started, id);
    guest().say(FrameType::output, id, "hello");
    guest().say(FrameType::error_output, id, "oops");
    guest().exited(id, {.code = 3});
    auto answer = guest().take();
    ASSERT_TRUE(result->has_value());
    ASSERT_TRUE(**result);
    EXPECT_EQ((**result)->output.stdout_text, "hello");
    EXPECT_EQ((**result)->output.stderr_text, "oops");
    EXPECT_EQ((**result)->output.exit_code, 3);
    EXPECT_TRUE(holds(answer, FrameType::ack, id));
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

/// Whatever breaks the protocol ends the link for good, and every command with it.
class HostileGuestTest : public GuestLinkTest {
protected:
    std::unique_ptr<http::Stream> connection_;

    void expect_breach(const std::function<void(ScriptedGuest&, std::uint64_t id)>& misbehave) {
        guest().open();
        auto result = begin(command());
        auto id = started_id(guest().take());
        misbehave(guest(), id);
        test::settle(io_);
        EXPECT_TRUE(link_->is_hostile());
        ASSERT_TRUE(result->has_value());
        ASSERT_FALSE(**result);
        EXPECT_THAT((**result).error().message(), HasSubstr("broke the protocol"));
        EXPECT_EQ(guests_.size(), 1U);
    }
};

TEST_F(HostileGuestTest, a_credit_that_is_ours_to_give) {
    expect_breach([](ScriptedGuest& guest, std::uint64_t id) {
        std::string credit;
        guest::append_credit(credit, id, {.stream = guest::Stream::output, .bytes = 1});
        guest.to_link->put(credit);
    });
}
// What nobody reads on a connection stays within its window, or the guest has broken the rules.
TEST_F(HostileGuestTest, more_on_a_connection_than_was_granted) {
    expect_breach([this](ScriptedGuest& scripted, std::uint64_t) {
        auto keep = [](std::shared_ptr<GuestLink> link, std::unique_ptr<http::Stream>& into) -> Task<void> {
            if (auto stream = co_await link->dial(80, in(5s))) into = std::move(*stream);
        };
        asio::co_spawn(io_, keep(link_, connection_), asio::detached);
        test::settle(io_);
        auto dial = scripted.take().back();
        ASSERT_EQ(dial.type, FrameType::dial);
        scripted.say(FrameType::connected, dial.id);
        test::settle(io_);
        ASSERT_TRUE(connection_);
        for (std::size_t sent = 0; sent < kConnectionWindow; sent += guest::kMaxPayload)
            scripted.say(FrameType::data, dial.id, std::string(guest::kMaxPayload, 'x'));
        test::settle(io_);
        EXPECT_FALSE(link_->ended());
        scripted.say(FrameType::data, dial.id, "x");
    });
}
TEST_F(HostileGuestTest, more_skipped_than_anybody_can_write) {
    expect_breach([](ScriptedGuest& guest, std::uint64_t id) {
        std::string skipped;
        guest::append_skipped(skipped, id, {.stream = guest::Stream::error, .bytes = UINT64_MAX});
        guest.to_link->put(skipped);
    });
}
TEST_F(HostileGuestTest, frames_that_only_we_send) {
    expect_breach([](ScriptedGuest& guest, std::uint64_t id) { guest.say(FrameType::kill, id); });
}
TEST_F(HostileGuestTest, a_type_that_does_not_exist) {
    expect_breach([](ScriptedGuest& guest, std::uint64_t id) { guest.say(static_cast<FrameType>(99), id); });
}
TEST_F(HostileGuestTest, an_end_that_makes_no_sense) {
    expect_breach([](ScriptedGuest& guest, std::uint64_t id) { guest.say(FrameType::exited, id, "x"); });
}
TEST_F(HostileGuestTest, bytes_that_are_no_frame) {
    expect_breach([](ScriptedGuest& guest, std::uint64_t) { guest.to_link->put(std::string(100, 'z')); });
}
TEST_F(HostileGuestTest, an_answer_to_a_start_up_command_that_was_not_sent) {
    expect_breach([](ScriptedGuest& guest, std::uint64_t) { guest.say(FrameType::started, 0); });
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
