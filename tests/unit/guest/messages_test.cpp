#include <gtest/gtest.h>

#include <sandbox/guest/messages.hpp>

#include "readers.hpp"

namespace sandbox::guest::test {
namespace {

// The payload of the one frame that `bytes` holds.
std::string payload_of(const std::string& bytes) {
    GuestReader reader;
    auto frames = read_all(reader, bytes);
    EXPECT_EQ(frames.size(), 1U);
    return frames.empty() ? std::string() : frames.front().payload;
}

// A payload that is cut, or (unless a later version may add to it) has more, is refused.
template <class Decode>
void expect_strict(const std::string& payload, Decode decode, bool extensible = false) {
    EXPECT_TRUE(decode(payload));
    for (std::size_t length = 0; length < payload.size(); ++length)
        EXPECT_FALSE(decode(std::string_view(payload).substr(0, length))) << "cut to " << length;
    EXPECT_EQ(static_cast<bool>(decode(payload + 'x')), extensible);
}

TEST(Messages, hello_goes_both_ways) {
    std::string bytes;
    append_attach(bytes, {.version = 3, .nonce = {'n', 'o'}});
    const auto host = decode_host_hello(payload_of(bytes));
    bytes.clear();
    append_guest_hello(bytes, {.nonce = {'n', 'o'}, .uid = 65534, .gid = 7, .sees_oom_kills = true});
    const auto guest = decode_guest_hello(payload_of(bytes));

    EXPECT_EQ(host->version, 3);
    EXPECT_EQ(host->nonce, guest->nonce);
    EXPECT_EQ(guest->version, kProtocolVersion);
    EXPECT_EQ(guest->uid, 65534U);
    EXPECT_EQ(guest->gid, 7U);
    EXPECT_TRUE(guest->sees_oom_kills);
    EXPECT_FALSE(guest->workspace_writable);
    expect_strict(payload_of(bytes), decode_guest_hello, true);
}

TEST(Messages, exited_keeps_every_field) {
    const Exited all{
        .code = 255, .signal = 64, .timed_out = true, .killed = true, .oom_killed = true, .out_of_processes = true};
    for (const auto& exited : {Exited{}, all, Exited{.code = 3}, Exited{.signal = 9, .oom_killed = true}}) {
        std::string bytes;
        append_exited(bytes, 4, exited);
        EXPECT_EQ(decode_exited(payload_of(bytes)), exited);
        expect_strict(payload_of(bytes), decode_exited);
    }
}

TEST(Messages, exit_codes_are_those_of_a_shell) {
    EXPECT_EQ(exit_code(Exited{.code = 7}), 7);
    EXPECT_EQ(exit_code(Exited{.signal = 9}), 137);
    EXPECT_EQ(exit_code(Exited{.signal = 9, .timed_out = true}), 124);
    EXPECT_EQ(exit_code(Failed{.kind = Failure::not_found}), 127);
    EXPECT_EQ(exit_code(Failed{.kind = Failure::cannot_run}), 126);
    EXPECT_EQ(exit_code(Failed{.kind = Failure::bad_directory}), 126);
    EXPECT_EQ(exit_code(Failed{.kind = Failure::out_of_processes}), std::nullopt);
}

TEST(Messages, failed_carries_a_bounded_sentence) {
    std::string bytes;
    append_failed(bytes, 4, {.kind = Failure::cannot_run, .error = 13, .what = std::string(5000, 'w')});
    const auto failed = decode_failed(payload_of(bytes));

    EXPECT_EQ(failed->kind, Failure::cannot_run);
    EXPECT_EQ(failed->error, 13);
    EXPECT_EQ(failed->what, std::string(kMaxWhat, 'w'));
    EXPECT_FALSE(decode_failed(payload_of(bytes) + 'w'));
    EXPECT_FALSE(decode_failed(std::string("\0\0\0\0\0", 5)));
    EXPECT_FALSE(decode_failed(std::string("\x07\0\0\0\0", 5)));
}

TEST(Messages, command_status_keeps_the_end_of_the_output) {
    std::string bytes;
    append_command_status(
        bytes, {.state = CommandStatus::State::ended, .code = 1, .tail = std::string(5000, 'a') + "the end"});
    const auto status = decode_command_status(payload_of(bytes));

    EXPECT_EQ(status->state, CommandStatus::State::ended);
    EXPECT_EQ(status->code, 1);
    EXPECT_EQ(status->tail.size(), kCommandTail);
    EXPECT_TRUE(status->tail.ends_with("the end"));
    EXPECT_FALSE(decode_command_status(payload_of(bytes) + 'x'));
}

TEST(Messages, the_small_ones_are_strict) {
    std::string credit;
    append_credit(credit, 1, {.stream = Stream::error, .bytes = 70'000});
    std::string dial;
    append_dial(dial, 1, {.port = 8080, .credit = 5});
    std::string close;
    append_close(close, 1, {.error = -1});

    EXPECT_EQ(decode_credit(payload_of(credit))->bytes, 70'000U);
    EXPECT_EQ(decode_credit(payload_of(credit))->stream, Stream::error);
    EXPECT_EQ(decode_dial(payload_of(dial))->port, 8080);
    EXPECT_EQ(decode_close(payload_of(close))->error, -1);
    expect_strict(payload_of(credit), decode_credit);
    expect_strict(payload_of(dial), decode_dial);
    expect_strict(payload_of(close), decode_close);
    EXPECT_FALSE(decode_credit(std::string("\x04\0\0\0\0", 5)));

    std::string skipped;
    append_skipped(skipped, 1, {.stream = Stream::error, .bytes = 5'000'000'000});
    EXPECT_EQ(decode_skipped(payload_of(skipped))->bytes, 5'000'000'000U);
    EXPECT_EQ(decode_skipped(payload_of(skipped))->stream, Stream::error);
    expect_strict(payload_of(skipped), decode_skipped);
    EXPECT_FALSE(decode_skipped(std::string("\x03\0\0\0\0\0\0\0\0", 9)));  // a connection skips nothing
}

}  // namespace
}  // namespace sandbox::guest::test
