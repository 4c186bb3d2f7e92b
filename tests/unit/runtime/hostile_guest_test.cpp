// A guest that breaks the protocol.
#include <functional>

#include "guest_link_fixture.hpp"

namespace sandbox::runtime {
namespace {

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

}  // namespace
}  // namespace sandbox::runtime
