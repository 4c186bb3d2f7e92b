// What an exec reports, whatever the command does. Times have room for a busy machine; what must not happen takes
// much longer than they allow.
#include <thread>

#include "fixture.hpp"

namespace sandbox::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Exec : public Lifecycle {};

TEST_F(Exec, a_time_limit_kills_the_whole_tree_also_what_left_the_session) {
    const auto started = std::chrono::steady_clock::now();
    const auto ended = sh("for i in 1 2; do (while :; do :; done) & done; setsid sleep 999 & sleep 60", 2);
    EXPECT_LT(std::chrono::steady_clock::now() - started, 6s);
    EXPECT_EQ(ended["output"]["timed_out"], true);
    EXPECT_EQ(ended["output"]["exit_code"], 124);
    EXPECT_THAT(processes(), testing::AllOf(Not(HasSubstr("sleep")), Not(HasSubstr("while"))));
}

TEST_F(Exec, ends_when_its_main_process_ends_and_leaves_the_background_alone) {
    const auto started = std::chrono::steady_clock::now();
    const auto ended = sh("sleep 300 & echo hi");
    EXPECT_LT(std::chrono::steady_clock::now() - started, 3s);
    EXPECT_EQ(ended["output"]["stdout"], "hi\n");
    EXPECT_EQ(ended["output"]["exit_code"], 0);
    EXPECT_THAT(processes(), HasSubstr("sleep 300"));
}

TEST_F(Exec, keeps_the_output_of_a_command_that_timed_out) {
    const auto ended = sh("seq 1 1000; sleep 60", 2);
    EXPECT_EQ(ended["output"]["timed_out"], true);
    const auto text = ended["output"]["stdout"].get<std::string>();
    EXPECT_THAT(text, StartsWith("1\n2\n"));
    EXPECT_THAT(text, EndsWith("999\n1000\n"));
}

TEST_F(Exec, counts_two_gibibytes_truly_and_keeps_its_memory) {
    const auto before = resident_mib(daemon_->process().pid());
    const auto ended = sh("head -c 2147483648 /dev/zero", 240);
    EXPECT_EQ(ended["state"], "succeeded") << ended.dump().substr(0, 500);
    EXPECT_EQ(ended["output"]["stdout_bytes"], 2147483648);
    EXPECT_EQ(ended["output"]["truncated"], true);
    EXPECT_LT(resident_mib(daemon_->process().pid()), before + 100);
}

TEST_F(Exec, twenty_loud_commands_side_by_side_each_count_truly) {
    std::vector<std::string> ids;
    for (int i = 0; i < 20; ++i)
        ids.push_back(api().enqueue(x(), {{"argv", {"head", "-c", "8388608", "/dev/zero"}}})["id"].get<std::string>());
    for (const auto& id : ids) EXPECT_EQ(api().wait(id)["output"]["stdout_bytes"], 8388608);
    EXPECT_LT(resident_mib(daemon_->process().pid()), 300);
}

TEST_F(Exec, keeps_head_and_tail_of_a_long_output) {
    const auto output = sh("seq 1 300000; echo FINAL")["output"];
    EXPECT_EQ(output["truncated"], true);
    EXPECT_THAT(output["stdout"].get<std::string>(), StartsWith("1\n2\n3\n"));
    EXPECT_THAT(output["stdout"].get<std::string>(), EndsWith("\nFINAL\n"));
}

TEST_F(Exec, says_why_a_program_could_not_be_run) {
    const auto missing = exec({{"argv", {"no-such-program"}}});
    EXPECT_EQ(missing["output"]["exit_code"], 127);
    EXPECT_THAT(missing["error"].get<std::string>(), HasSubstr("no-such-program"));
    const auto forbidden = exec({{"argv", {"/etc/passwd"}}});
    EXPECT_EQ(forbidden["output"]["exit_code"], 126);
    EXPECT_THAT(forbidden["error"].get<std::string>(), HasSubstr("/etc/passwd"));
}

TEST_F(Exec, a_signal_is_128_more_and_named) {
    const auto output = sh("kill -9 $$")["output"];
    EXPECT_EQ(output["exit_code"], 137);
    EXPECT_EQ(output["signal"], 9);
}

TEST_F(Exec, arguments_and_values_pass_byte_for_byte_and_values_stay_out_of_sight) {
    const auto secret = std::string("s3cr3t-value-1");
    const auto running =
        api().enqueue(x(), {{"argv", {"sh", "-c", "echo \"$TWO\"; sleep 2; printf %s \"$1\"", "sh", "a\n$(x) *"}},
                            {"env", {{"TOKEN", secret}, {"TWO", "first\nsecond"}}}});
    std::this_thread::sleep_for(1s);
    const auto host = run_program({.argv = {"ps", "-eo", "args"}}).out;
    EXPECT_THAT(host, Not(HasSubstr(secret)));
    const auto ended = api().wait(running["id"].get<std::string>());
    EXPECT_EQ(ended["output"]["stdout"], "first\nsecond\na\n$(x) *");
    EXPECT_THAT(ended.dump(), Not(HasSubstr(secret)));
    EXPECT_THAT(daemon_->process().err(), Not(HasSubstr(secret)));
}

TEST_F(Exec, a_cancel_kills_it_and_says_so) {
    const auto running = api().enqueue(x(), {{"argv", {"sh", "-c", "setsid sleep 777 & sleep 778"}}});
    const auto id = running["id"].get<std::string>();
    ASSERT_TRUE(eventually(10s, [&] { return processes().find("sleep 777") != std::string::npos; }));
    EXPECT_EQ(call(api().address(), "POST", "/v1/operations/" + id + "/cancel").status, 202U);
    const auto ended = api().wait(id);
    EXPECT_EQ(ended["state"], "failed");
    EXPECT_EQ(ended["error"], "cancelled");
    EXPECT_EQ(ended["output"]["exit_code"], 137);
    EXPECT_THAT(processes(), Not(HasSubstr("sleep 77")));
}

// A process of the sandbox can neither read nor write what the worker and PID 1 say to each other.
TEST_F(Exec, nothing_inside_reaches_the_streams_of_pid_1) {
    const auto ended =
        sh("for fd in 0 1 2; do echo x > /proc/1/fd/$fd; cat < /proc/1/fd/$fd; done; ls /proc/1/fd; echo done");
    EXPECT_EQ(ended["state"], "succeeded");
    EXPECT_EQ(ended["output"]["stdout"], "done\n");
    EXPECT_THAT(ended["output"]["stderr"].get<std::string>(), HasSubstr("Permission denied"));
    EXPECT_EQ(sh("echo still here")["output"]["stdout"], "still here\n");
}

}  // namespace
}  // namespace sandbox::test
