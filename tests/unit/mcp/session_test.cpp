#include <session.hpp>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::mcp {
namespace {

using nlohmann::json;

/// A session that never gets to run its calls: they stay in line.
class SessionTest : public ::testing::Test {
protected:
    SessionTest() { ask("initialize", {{"protocolVersion", "2025-11-25"}}); }
    ~SessionTest() override { io.stop(); }

    std::string id() { return std::to_string(++last_id); }
    void ask(const std::string& method, const json& params) {
        session.handle(json{{"jsonrpc", "2.0"}, {"id", id()}, {"method", method}, {"params", params}}.dump());
    }
    void call(const json& arguments = json::object()) {
        ask("tools/call", {{"name", "sandbox_health"}, {"arguments", arguments}});
    }

    asio::io_context io{1};
    Bridge bridge{io.get_executor(), {}};
    std::vector<json> said;
    Session session{io.get_executor(),
                    bridge,
                    [this](std::string line) { said.push_back(json::parse(line)); },
                    {.side_by_side = 2, .in_line = 10, .bytes_in_line = 100'000}};
    int last_id = 0;
};

// Whoever asks faster than the server answers must not fill our memory.
TEST_F(SessionTest, refuses_calls_when_too_many_are_in_line) {
    for (int i = 0; i < 12; ++i) call();
    EXPECT_EQ(session.calls(), 12U);
    EXPECT_EQ(said.size(), 1U);
    call();
    EXPECT_EQ(session.calls(), 12U);
    EXPECT_EQ(said.back()["error"]["code"], kBusy);
}

TEST_F(SessionTest, refuses_calls_when_those_in_line_weigh_too_much) {
    const json heavy{{"stdin", std::string(30'000, 'x')}};
    for (int i = 0; i < 2; ++i) call();
    for (int i = 0; i < 3; ++i) call(heavy);
    EXPECT_EQ(session.calls(), 5U);
    call(heavy);
    EXPECT_EQ(session.calls(), 5U);
    EXPECT_EQ(said.back()["error"]["code"], kBusy);
    call();
    EXPECT_EQ(session.calls(), 6U) << "a light one still fits";
}

TEST_F(SessionTest, a_cancelled_call_frees_its_id_and_its_place_in_line) {
    for (int i = 0; i < 12; ++i) call();
    session.handle(json{
        {"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", std::to_string(last_id)}}}}
                       .dump());
    EXPECT_EQ(session.calls(), 11U);
    --last_id;
    call();
    EXPECT_EQ(session.calls(), 12U);
}

TEST_F(SessionTest, a_cancel_counts_whatever_else_is_in_it_and_is_not_answered) {
    for (int i = 0; i < 3; ++i) call();
    const auto cancel = [&](int request, const std::string& more) {
        session.handle(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":")" +
                       std::to_string(request) + R"(",)" + more + "}}");
    };
    cancel(last_id, R"("reason":"\u0000")");
    EXPECT_EQ(session.calls(), 2U);
    cancel(last_id - 1, R"("a":1,"a":2)");
    EXPECT_EQ(session.calls(), 1U);
    EXPECT_EQ(said.size(), 1U) << "the answer to initialize";
}

}  // namespace
}  // namespace sandbox::mcp
