#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

class Errors : public CliTest {};

TEST_F(Errors, of_usage_end_with_2_and_say_what_was_meant) {
    for (const auto& [words, part] : std::vector<std::pair<Words, std::string>>{
             {{}, "a command is missing"},
             {{"lst"}, "did you mean list?"},
             {{"exec", "--timeot", "1"}, "did you mean --timeout?"},
             {{"create"}, "--image is required"},
             {{"agent", "run", "claude", "--no-wait", "--", "-p"}, "--no-wait"}}) {
        const auto human = run(words);
        EXPECT_EQ(human.status, 2);
        EXPECT_EQ(human.out, "");
        EXPECT_THAT(human.err, AllOf(StartsWith("sandbox: "), HasSubstr(part)));
        EXPECT_EQ(json_error(words, 2)["code"], "usage");
    }
}

// Nobody listens there: what one can do stands in the message.
TEST_F(Errors, of_the_connection_hint_at_doctor_and_config) {
    const auto error = json_error({"--server", "http://127.0.0.1:9", "list"});

    EXPECT_EQ(error["code"], "unavailable");
    EXPECT_TRUE(error["request_id"].is_null());
    EXPECT_THAT(error["message"].get<std::string>(),
                AllOf(HasSubstr("http://127.0.0.1:9"), HasSubstr("`sandbox doctor`"), HasSubstr("config set-server")));
}

TEST_F(Errors, of_the_server_carry_its_code_and_request_id) {
    const auto error = json_error({"inspect", kNobody});

    EXPECT_EQ(error["code"], "not_found");
    EXPECT_THAT(error["request_id"].get<std::string>(), Not(IsEmpty()));
    EXPECT_THAT(run({"inspect", kNobody}).err, HasSubstr("(request "));
}

TEST_F(Errors, say_in_one_sentence_that_there_are_no_tunnels) {
    for (const auto& words : std::vector<Words>{{"tunnel", "create", kNobody, "--port", "80"},
                                                {"tunnel", "list", kNobody},
                                                {"tunnel", "delete", kNobody, kNobody},
                                                {"http", "3000"}}) {
        const auto ended = run(words);
        EXPECT_EQ(ended.status, 1);
        EXPECT_EQ(ended.err, "sandbox: tunnels are not available in this version\n");
    }
}

// A full disk is not taken for success.
TEST_F(Errors, of_standard_output_are_noticed) {
    auto start = start_of({});
    start.argv = {"sh", "-c", program("sandbox") + " agent list > /dev/full"};
    const auto ended = run_program(start);

    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("No space left on device"));
}

// A reader that has seen enough is none.
TEST_F(Errors, of_a_closed_pipe_are_silent) {
    auto start = start_of({});
    start.argv = {"sh", "-c", program("sandbox") + " agent list | true"};
    EXPECT_EQ(run_program(start).err, "");
}

/// A server that wants a token.
class Token : public ::testing::Test {
protected:
    static constexpr auto kToken = "an-api-token-for-tests-of-40-characters!";
    Daemon daemon_{{.variables = {{"SANDBOX__SERVER__API_TOKEN", kToken},
                                  {"SANDBOX__SERVER__NODE_TOKEN", "a-node-token-for-tests-of-40-characters"}},
                    .arguments = {"--dev"},
                    .wait_for_node = true}};
    TemporaryDirectory home_;

    [[nodiscard]] Ended run(Words words, std::optional<std::string> token) const {
        auto start = command(daemon_.url(), home_, std::move(words));
        start.environment["SANDBOX_TOKEN"] = std::move(token);
        return run_program(start);
    }
};

TEST_F(Token, is_asked_for_and_never_shown) {
    EXPECT_EQ(run({"list"}, kToken).status, 0);
    EXPECT_EQ(run({"list", "--token", kToken}, std::nullopt).status, 0);

    const auto without = run({"list"}, std::nullopt);
    EXPECT_EQ(without.status, 1);
    EXPECT_THAT(without.err, HasSubstr("Set SANDBOX_TOKEN"));

    const auto wrong = run({"list", "--json"}, "a-wrong-token-of-some-forty-characters-x");
    EXPECT_EQ(nlohmann::json::parse(wrong.err)["error"]["code"], "unauthorized");
    EXPECT_THAT(wrong.err, HasSubstr("SANDBOX_TOKEN"));
    EXPECT_THAT(wrong.err, Not(HasSubstr("a-wrong-token")));

    const auto broken = run({"list"}, "white space");
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(broken.err, Not(HasSubstr("white space\n")));
    EXPECT_THAT(run({"config", "show"}, kToken).out, Not(HasSubstr(kToken)));
}

// A container's health check runs it without a token.
TEST_F(Token, missing_is_no_failure_for_doctor_but_a_wrong_one_is) {
    const auto without = run({"doctor"}, std::nullopt);
    EXPECT_EQ(without.status, 0) << without.out;
    EXPECT_THAT(without.out, ::testing::ContainsRegex("token +not checked"));
    EXPECT_THAT(without.out, ::testing::ContainsRegex("nodes +not checked"));

    const auto wrong = run({"doctor"}, "a-wrong-token-of-some-forty-characters-x");
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.out, ::testing::ContainsRegex("token +failed +refused"));
    EXPECT_THAT(wrong.out, HasSubstr("token: set SANDBOX_TOKEN"));

    EXPECT_EQ(run({"doctor"}, kToken).status, 0);
}

}  // namespace
}  // namespace sandbox::test
