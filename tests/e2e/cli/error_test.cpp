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

// Nor is half a command's output taken for all of it, whichever stream is lost.
TEST_F(Errors, of_a_commands_output_are_noticed_on_both_streams) {
    const auto exec = program("sandbox") + " exec " + sandbox() + " -- sh -c 'echo out; echo err >&2'";
    auto start = start_of({});
    start.argv = {"sh", "-c", exec + " > /dev/full"};
    const auto output_lost = run_program(start);
    start.argv = {"sh", "-c", exec + " 2> /dev/full"};
    const auto errors_lost = run_program(start);

    EXPECT_EQ(output_lost.status, 1);
    EXPECT_THAT(output_lost.err, HasSubstr("No space left on device"));
    EXPECT_EQ(errors_lost.status, 1);
    EXPECT_EQ(errors_lost.out, "out\n");
}

// A reader that has seen enough is none.
TEST_F(Errors, of_a_closed_pipe_are_silent) {
    auto start = start_of({});
    start.argv = {"sh", "-c", program("sandbox") + " agent list | true"};
    EXPECT_EQ(run_program(start).err, "");
}

// The real sentence of the TLS layer, since the advice goes by its words.
TEST(Tls, of_an_unknown_authority_names_the_option) {
    const TemporaryDirectory folder;
    const auto key = folder.path() + "/key.pem";
    const auto certificate = folder.path() + "/cert.pem";
    const auto made = run_program(
        {.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                  "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate}});
    ASSERT_EQ(made.status, 0) << made.err;
    const Daemon daemon({.variables = {{"SANDBOX__SERVER__TLS_CERT_FILE", certificate},
                                       {"SANDBOX__SERVER__TLS_KEY_FILE", key},
                                       {"SANDBOX__SERVER__API_TOKEN", "an-api-token-for-tests-of-40-characters!"},
                                       {"SANDBOX__SERVER__NODE_TOKEN", "a-node-token-for-tests-of-40-characters"}},
                         .arguments = {"--role", "controller"},
                         .wait_for_node = false});
    const TemporaryDirectory home;
    auto start = command("https://" + daemon.address(), home, {"list"});
    start.environment["SANDBOX_TOKEN"] = "an-api-token-for-tests-of-40-characters!";

    const auto refused = run_program(start);
    start.environment["SANDBOX_CA_FILE"] = folder.path() + "/absent.pem";
    const auto absent = run_program(start);
    start.environment["SANDBOX_CA_FILE"] = certificate;
    const auto trusted = run_program(start);

    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("--ca-file"), HasSubstr("SANDBOX_CA_FILE")));
    EXPECT_EQ(absent.status, 1);
    EXPECT_THAT(absent.err, HasSubstr("--ca-file or SANDBOX_CA_FILE names it"));
    EXPECT_EQ(trusted.status, 0) << trusted.err;
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
