// What an exec reports, on real processes.
#include <chrono>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/text.hpp>

#include "docker_fixture.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// Processes of the sandbox whose command line begins with "sleep".
constexpr const char* kCountSleeps = "ps -o args | grep -c '^sleep' || true";

std::chrono::milliseconds since(std::chrono::steady_clock::time_point begun) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
}

TEST_F(DockerTest, reports_exit_codes_and_signals) {
    auto id = running();
    auto status = [&](std::vector<std::string> argv) { return exec(id, std::move(argv))->output; };
    EXPECT_EQ(status({"true"}).exit_code, 0);
    EXPECT_EQ(status({"sh", "-c", "exit 7"}).exit_code, 7);
    auto killed = status({"sh", "-c", "kill -TERM $$"});
    EXPECT_EQ(killed.exit_code, 143);
    EXPECT_EQ(killed.signal, 15);
    auto missing = exec(id, {"no-such-program"});
    EXPECT_EQ(missing->output.exit_code, 127);
    EXPECT_THAT(missing->error.value_or(""), HasSubstr("no-such-program"));
    auto directory = exec(id, {"/tmp"});
    EXPECT_EQ(directory->output.exit_code, 126);
    EXPECT_THAT(directory->error.value_or(""), HasSubstr("/tmp"));
    auto nowhere = command({"true"});
    nowhere.cwd = "/no/such/directory";
    EXPECT_EQ(exec(id, nowhere)->output.exit_code, 126);
}

TEST_F(DockerTest, keeps_the_two_streams_apart) {
    auto output = exec(running(), {"sh", "-c", "echo out; echo err >&2; exit 1"})->output;
    EXPECT_EQ(output.stdout_text, "out\n");
    EXPECT_EQ(output.stderr_text, "err\n");
    EXPECT_EQ(output.stdout_bytes, 4);
    EXPECT_EQ(output.stderr_bytes, 4);
    EXPECT_EQ(output.exit_code, 1);
    EXPECT_FALSE(output.truncated);
}

// Arguments, variables and input pass byte for byte, whatever a shell would make of them.
TEST_F(DockerTest, passes_everything_byte_for_byte) {
    auto id = running();
    std::vector<std::string> odd{"", " ", "a\nb", "$(id)", "*", "'\"", "\\", "--", std::string(131'071, 'x'), "é\xFF"};
    std::vector<std::string> argv{"sh", "-c", "for a in \"$@\"; do printf '%s' \"$a\" | sha256sum; done", "sh"};
    std::string expected;
    for (const auto& argument : odd) argv.push_back(argument);
    auto digests = exec(id, argv)->output.stdout_text;
    std::string script;
    auto check = shell_command("while read -r line; do printf '%s' \"$line\" | base64 -d | sha256sum; done");
    std::string input;
    for (const auto& argument : odd) input += base64_encode(argument) + "\n";
    check.stdin_bytes = input;
    EXPECT_EQ(exec(id, check)->output.stdout_text, digests);

    auto with_env = shell_command("printf '%s' \"$V\"");
    with_env.env = {{"V", "a\nb=$(id)*"}};
    EXPECT_EQ(exec(id, with_env)->output.stdout_text, "a\nb=$(id)*");
    with_env.env = {{"V", std::string(131'072, 'x')}};
    EXPECT_EQ(exec(id, with_env)->output.exit_code, 126);
}

TEST_F(DockerTest, gives_input_and_its_end) {
    auto id = running();
    auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(exec(id, {"cat"})->output.stdout_text, "");
    std::string input;
    for (std::int64_t i = 0; input.size() < 5 * 1024 * 1024; ++i) input += std::to_string(i * 7919) + "\n";
    auto cat = command({"sh", "-c", "cat | sha256sum; cat | wc -c"});
    cat.stdin_bytes = input;
    auto output = exec(id, cat)->output;
    auto local = run_program({.argv = {"sha256sum"}, .input = input});
    EXPECT_EQ(output.stdout_text, local.out + "0\n");
    // A command that does not read its input does not hang.
    auto ignores = command({"true"});
    ignores.stdin_bytes = input;
    EXPECT_EQ(exec(id, ignores)->output.exit_code, 0);
    EXPECT_LT(since(begun), 20s);
}

TEST_F(DockerTest, ends_with_its_main_process) {
    auto id = running();
    auto begun = std::chrono::steady_clock::now();
    auto result = exec(id, {"sh", "-c", "sleep 300 & echo hi"});
    EXPECT_EQ(result->output.stdout_text, "hi\n");
    EXPECT_LT(since(begun), 2s);
    EXPECT_EQ(shell(id, kCountSleeps), "1\n");
}

TEST_F(DockerTest, kills_the_whole_tree_at_the_time_limit) {
    auto id = running();
    auto loops =
        shell_command("for i in 1 2; do (while :; do :; done) & done; setsid sleep 999 & seq 1 1000; sleep 60");
    loops.timeout_seconds = 2;
    auto begun = std::chrono::steady_clock::now();
    auto result = exec(id, loops);
    EXPECT_LT(since(begun), 6s);
    EXPECT_EQ(result->output.exit_code, 124);
    EXPECT_TRUE(result->output.timed_out);
    EXPECT_THAT(result->error.value_or(""), HasSubstr("time limit of 2 s"));
    EXPECT_TRUE(result->output.stdout_text.ends_with("\n999\n1000\n"));
    EXPECT_EQ(shell(id, kCountSleeps), "0\n");
    EXPECT_EQ(shell(id, "ps -o args | grep -c '[w]hile' || true"), "0\n");
}

TEST_F(DockerTest, cancels_with_the_whole_tree) {
    auto id = running();
    auto operation = new_operation();
    auto command = shell_command("setsid sleep 998 & echo begun; sleep 60");
    auto running_exec = begin(runtime_->exec(id, operation, command, 1024));
    eventually(300ms, [] { return false; });
    auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(wait(runtime_->cancel(id, operation)));
    ASSERT_TRUE(eventually(5s, [&] { return running_exec->has_value(); }));
    EXPECT_LT(since(begun), 2s);
    auto& result = **running_exec;
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->output.exit_code, 137);
    EXPECT_EQ(result->output.stdout_text, "begun\n");
    EXPECT_EQ(result->error, "cancelled");
    EXPECT_EQ(shell(id, kCountSleeps), "0\n");
    EXPECT_TRUE(wait(runtime_->cancel(id, operation)));  // nothing any more
}

TEST_F(DockerTest, keeps_both_ends_of_long_output) {
    auto id = running();
    auto output = exec(id, shell_command("seq 1 300000; echo FINAL"), 100'000)->output;
    EXPECT_TRUE(output.truncated);
    EXPECT_TRUE(output.stdout_text.starts_with("1\n2\n3\n"));
    EXPECT_TRUE(output.stdout_text.ends_with("300000\nFINAL\n"));
    EXPECT_THAT(output.stdout_text, HasSubstr("bytes are missing"));
    EXPECT_EQ(output.stdout_bytes, 1'988'901);
    EXPECT_LE(output.stdout_text.size(), 100'000U);
}

// Two gibibytes are the end-to-end tests' matter: here every byte goes through a sanitizer.
TEST_F(DockerTest, counts_a_long_output_truly) {
    auto command = shell_command("head -c 134217728 /dev/zero");
    command.timeout_seconds = 300;
    auto output = exec(running(), command)->output;
    EXPECT_EQ(output.stdout_bytes, 134'217'728);
    EXPECT_EQ(output.exit_code, 0);
}

TEST_F(DockerTest, gives_the_bytes_of_binary_output) {
    auto output = exec(running(), shell_command("printf '\\377\\000a'; echo text >&2"))->output;
    EXPECT_EQ(output.stdout_text, std::string("\xEF\xBF\xBD\0a", 5));
    EXPECT_EQ(base64_decode(output.stdout_base64.value_or("")), std::string("\xFF\0a", 3));
    EXPECT_FALSE(output.stderr_base64);
}

// One loud process can't stall another, and past sixty-four they wait their turn.
TEST_F(DockerTest, runs_many_side_by_side) {
    auto id = running();
    auto yes = shell_command("yes | head -c 200000000");
    auto loud = begin(runtime_->exec(id, new_operation(), yes, 1000));
    auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(shell(id, "echo quick"), "quick\n");
    EXPECT_LT(since(begun), 2s);
    ASSERT_TRUE(eventually(30s, [&] { return loud->has_value(); }));
    EXPECT_EQ((**loud)->output.stdout_bytes, 200'000'000);

    auto spec = small();
    spec.resources.pids = 256;
    auto wide = running(spec);
    std::vector<std::shared_ptr<std::optional<Result<runtime::ExecResult>>>> all;
    auto sleep = shell_command("sleep 1; echo done");
    for (int i = 0; i < 80; ++i) all.push_back(begin(runtime_->exec(wide, new_operation(), sleep, 1000)));
    for (auto& each : all) {
        ASSERT_TRUE(eventually(60s, [&] { return each->has_value(); }));
        ASSERT_TRUE(**each) << (**each).error().message();
        EXPECT_EQ((**each)->output.stdout_text, "done\n");
    }
}

// A delete ends what runs there; the commands tell that they were cancelled.
TEST_F(DockerTest, a_delete_ends_its_execs) {
    auto id = running();
    auto sleep = shell_command("echo before; sleep 120");
    auto one = begin(runtime_->exec(id, new_operation(), sleep, 1000));
    eventually(300ms, [] { return false; });
    auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    EXPECT_LT(since(begun), 5s);
    ASSERT_TRUE(eventually(1s, [&] { return one->has_value(); }));
    EXPECT_EQ((**one)->output.exit_code, 137);
    EXPECT_EQ((**one)->error, "cancelled");
    EXPECT_EQ((**one)->output.stdout_text, "before\n");
}

TEST_F(DockerTest, tells_memory_and_process_limits_apart) {
    auto spec = small();
    spec.resources.memory_mib = 64;
    spec.resources.pids = 32;
    auto id = running(spec);
    auto greedy = exec(id, {"sh", "-c", "head -c 200000000 /dev/zero | tail | wc -c"});
    ASSERT_TRUE(greedy) << greedy.error().message();
    EXPECT_TRUE(greedy->output.oom_killed);
    EXPECT_FALSE(greedy->output.timed_out);
    EXPECT_EQ(shell(id, "echo next"), "next\n");

    auto bomb = shell_command("f() { f | f & }; f; sleep 3; exit 1");
    bomb.timeout_seconds = 5;
    auto bombed = exec(id, bomb);
    ASSERT_TRUE(bombed) << bombed.error().message();
    EXPECT_THAT(bombed->error.value_or(""), HasSubstr("process limit"));
    EXPECT_FALSE(bombed->output.oom_killed);
    EXPECT_EQ(shell(id, "echo next"), "next\n");
}

TEST_F(DockerTest, connects_to_a_port_inside_without_any_network) {
    auto id = running();
    shell(id, "echo hi > /workspace/index.html; httpd -p 127.0.0.1:8080 -h /workspace");
    auto fetch = [](runtime::Runtime& runtime, domain::SandboxId sandbox) -> Task<std::string> {
        auto stream = co_await runtime.dial(sandbox, 8080, in(5s));
        if (!stream) co_return "dial: " + stream.error().message();
        (void)co_await (*stream)->write("GET /index.html HTTP/1.0\r\n\r\n", in(5s));
        std::string answer;
        std::array<char, 1024> buffer;
        for (;;) {
            auto count = co_await (*stream)->read_some(buffer, in(5s));
            if (!count || *count == 0) break;
            answer.append(buffer.data(), *count);
        }
        co_return answer;
    };
    auto answer = wait(fetch(*runtime_, id));
    EXPECT_THAT(answer, HasSubstr("200 OK"));
    EXPECT_TRUE(answer.ends_with("hi\n")) << answer;
    auto refused = wait(runtime_->dial(id, 9, in(5s)));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("port 9"));
}

}  // namespace
}  // namespace sandbox::test
