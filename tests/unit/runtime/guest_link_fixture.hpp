#pragma once

#include <deque>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>

#include <sandbox/async/task_group.hpp>
#include <sandbox/guest/start.hpp>

#include "guest_link.hpp"
#include "memory_stream.hpp"
#include "support/run_task.hpp"

namespace sandbox::runtime {

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

}  // namespace sandbox::runtime
