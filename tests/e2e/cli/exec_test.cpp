#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

/// All of them use one sandbox.
class Exec : public CliTest {
protected:
    static const std::string& shared() {
        static const std::string id = [] {
            const TemporaryDirectory home;
            auto ended = run_program(command(daemon().url(), home, {"create", "--image", kImage, "--quiet"}), 1min);
            if (ended.status != 0) throw std::runtime_error("create failed: " + ended.err);
            return ended.out.substr(0, 36);
        }();
        return id;
    }
    static void TearDownTestSuite() {
        const TemporaryDirectory home;
        run_program(command(daemon().url(), home, {"delete", shared()}), 1min);
    }
    [[nodiscard]] Ended exec(Words words, std::string input = "") const {
        words.insert(words.begin(), {"exec", shared()});
        return run(std::move(words), std::move(input));
    }
};

TEST_F(Exec, keeps_the_two_streams_apart_and_has_the_commands_status) {
    const auto ended = exec({"--", "sh", "-c", "echo to-out; echo to-err >&2; exit 3"});

    EXPECT_EQ(ended.out, "to-out\n");
    EXPECT_EQ(ended.err, "to-err\n");
    EXPECT_EQ(ended.status, 3);
}

// Options of ours end where the command begins, with or without "--".
TEST_F(Exec, passes_words_as_the_shell_gave_them) {
    const Words odd{"[a,b]", "", "two\nlines", "$(id)", "*", "--json", "--", "-x", "{c,d}", "ü"};
    Words words{"printf", "%s|"};
    words.insert(words.end(), odd.begin(), odd.end());
    std::string wanted;
    for (const auto& word : odd) wanted += word + "|";

    EXPECT_EQ(exec(words).out, wanted);
    words.insert(words.begin(), "--");
    EXPECT_EQ(exec(words).out, wanted);
}

TEST_F(Exec, takes_options_before_and_after_the_id) {
    const auto before =
        run({"exec", "--cwd", "/tmp", "--env", "A=[x,y]", shared(), "--env=B=2", "--", "sh", "-c", "echo $PWD $A $B"});
    EXPECT_EQ(before.out, "/tmp [x,y] 2\n") << before.err;
}

// Bytes that are no text come out as they went in.
TEST_F(Exec, gives_the_exact_bytes) {
    const auto ended = exec({"--", "printf", R"(\377\000\001ok\n)"});
    EXPECT_EQ(ended.out, std::string("\xff\0\1ok\n", 6));
}

TEST_F(Exec, sends_standard_input_only_when_it_is_to) {
    std::string bytes = "with \xff and";
    bytes.push_back('\0');
    bytes += "\n";

    EXPECT_EQ(exec({"--stdin", "--", "cat"}, bytes).out, bytes);
    EXPECT_EQ(exec({"--", "cat"}, bytes).out, "");
    EXPECT_EQ(exec({"--stdin", "--", "true"}, std::string(1024 * 1024, 'x')).status, 0);
}

// More than the server takes is refused by it, with a word on what to change.
TEST_F(Exec, says_so_when_its_input_is_too_large) {
    const auto ended = exec({"--stdin", "--", "true"}, std::string(20 * 1024 * 1024, 'x'));

    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("server.exec_body_limit_bytes"));
}

TEST_F(Exec, ends_with_124_at_its_time_limit_and_keeps_the_output) {
    const auto ended = exec({"--timeout", "1", "--", "sh", "-c", "echo before; sleep 60"});

    EXPECT_EQ(ended.status, 124);
    EXPECT_EQ(ended.out, "before\n");
    EXPECT_THAT(ended.err, HasSubstr("time limit"));
}

TEST_F(Exec, names_the_program_that_is_not_there) {
    const auto ended = exec({"--", "no-such-program"});

    EXPECT_EQ(ended.status, 127);
    EXPECT_THAT(ended.err, HasSubstr("no-such-program"));
}

TEST_F(Exec, ends_with_128_and_the_signal) {
    EXPECT_EQ(exec({"--", "sh", "-c", "kill -9 $$"}).status, 137);
}

// What was cut is said, on the other stream and not in a pipe's way.
TEST_F(Exec, says_when_the_output_was_cut) {
    const auto ended = exec({"--", "sh", "-c", "seq 1 400000; echo FINAL"});

    EXPECT_THAT(ended.out, StartsWith("1\n2\n3\n"));
    EXPECT_THAT(ended.out, EndsWith("FINAL\n"));
    EXPECT_THAT(ended.err, HasSubstr("the output was cut"));
    EXPECT_EQ(exec({"--quiet", "--", "sh", "-c", "seq 1 400000"}).err, "");
}

TEST_F(Exec, gives_programs_the_operation) {
    const auto document = json({"exec", shared(), "--", "sh", "-c", "echo hi; exit 4"}, 4);

    EXPECT_EQ(document["kind"], "exec");
    EXPECT_EQ(document["state"], "failed");
    EXPECT_EQ(document["output"]["stdout"], "hi\n");
    EXPECT_EQ(document["output"]["exit_code"], 4);
    EXPECT_EQ(document["argv"], (nlohmann::json{"sh", "-c", "echo hi; exit 4"}));
}

TEST_F(Exec, prints_the_operation_when_it_is_not_to_wait) {
    const auto ended = exec({"--no-wait", "--", "sh", "-c", "echo later; exit 6"});
    ASSERT_THAT(ended.out, MatchesRegex(kIdLine)) << ended.err;
    const auto id = ended.out.substr(0, 36);

    const auto waited = run({"wait", id.substr(24)});

    EXPECT_EQ(waited.out, "later\n");
    EXPECT_EQ(waited.status, 6);
    EXPECT_THAT(ended.err, HasSubstr("sandbox wait " + id));
}

TEST_F(Exec, in_a_sandbox_that_is_not_there_fails_with_1) {
    const auto error = json_error({"exec", kNobody, "--", "true"});
    EXPECT_EQ(error["code"], "not_found");
}

// A value of --env is in no process list: neither of ours nor of the host's.
TEST_F(Exec, does_not_put_variables_into_command_lines) {
    const auto ended = exec({"--env", "TOKEN=s3cr3t-value-1", "--env", "TWO=a\nb", "--", "sh", "-c",
                             R"(cat /proc/*/cmdline | tr '\000' ' ' | grep -c s3cr3t-value-[1]; echo "$TWO")"});
    EXPECT_EQ(ended.out, "0\na\nb\n");
    EXPECT_THAT(daemon().process().err(), Not(HasSubstr("s3cr3t-value-1")));
}

// On a terminal a line tells what is waited for, and is gone before the output comes.
TEST_F(Exec, shows_a_live_line_on_a_terminal) {
    auto start = start_of({});
    start.argv = {"script", "-qec", program("sandbox") + " exec " + shared() + " -- sh -c 'sleep 2; echo done'",
                  "/dev/null"};
    start.environment["TERM"] = "xterm";

    const auto ended = run_program(start, 30s);

    EXPECT_THAT(ended.out, HasSubstr("\r\x1b[Kexec: "));
    EXPECT_THAT(ended.out, HasSubstr("… 1 s"));
    EXPECT_THAT(ended.out, EndsWith("\r\x1b[Kdone\r\n"));
}

}  // namespace
}  // namespace sandbox::test
