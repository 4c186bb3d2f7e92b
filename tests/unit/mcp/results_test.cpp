#include <results.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/base/text.hpp>

namespace sandbox::mcp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

domain::Operation ended(domain::Output output, std::optional<std::string> error = std::nullopt) {
    domain::Operation operation;
    operation.kind = domain::OperationKind::exec;
    operation.state = error ? domain::OperationState::failed : domain::OperationState::succeeded;
    operation.output = std::move(output);
    operation.error = std::move(error);
    return operation;
}

TEST(Account, of_a_command_says_how_it_ended_before_what_it_wrote) {
    const auto text = [](domain::Output output, const char* error) {
        const auto result = account(ended(std::move(output), error), 1000);
        EXPECT_TRUE(result.is_error);
        EXPECT_THAT(result.text, StartsWith(result.structure["error"].get<std::string>()));
        return result.text;
    };
    EXPECT_THAT(text({.exit_code = 3, .stderr_text = "no"}, "command exited with status 3"),
                StartsWith("The command exited with status 3 after 0 ms. The sandbox is still there"));
    EXPECT_THAT(text({.exit_code = 127}, "program \"x\" was not found in PATH"), HasSubstr("was not found in PATH"));
    EXPECT_THAT(text({.exit_code = 137, .timed_out = true, .duration_ms = 60'000}, "timed out"),
                StartsWith("The command was stopped at its time limit after 60.0 s"));
    EXPECT_THAT(text({.exit_code = 137, .oom_killed = true}, "killed"), HasSubstr("memory_mib"));
    EXPECT_THAT(text({.exit_code = 139, .signal = 11}, "killed by signal 11"), HasSubstr("signal 11"));
    EXPECT_THAT(text({.exit_code = 1, .stdout_text = "x"}, "command exited with status 1"), HasSubstr("stdout:\nx\n"));
    EXPECT_THAT(text({.exit_code = 1}, "command exited with status 1"), HasSubstr("It wrote nothing"));
}

TEST(Account, of_output_that_is_no_text_says_where_the_exact_bytes_are) {
    domain::Output output{.stdout_text = "\xef\xbf\xbd", .stdout_bytes = 1};
    output.stdout_base64 = "/w==";
    EXPECT_THAT(account(ended(output), 1000).text, AllOf(HasSubstr("base64"), HasSubstr("stream \"stdout\"")));
    EXPECT_THAT(account(ended({.stdout_text = "x"}), 1000).text, Not(HasSubstr("base64")));

    // Too much to be shown: what reads the structure alone is told as well.
    output.stdout_base64 = base64_encode(std::string(2000, '\xff'));
    const auto large = shown(ended(output), 1000)["output"];
    EXPECT_EQ(large["stdout_base64"], nullptr);
    EXPECT_THAT(large["stdout"].get<std::string>(), HasSubstr("the exact bytes come as base64"));
}

TEST(Account, of_what_has_not_ended_is_no_error_and_names_the_operation) {
    domain::Operation operation;
    operation.state = domain::OperationState::running;
    operation.phase = "pulling image";
    const auto result = account(operation, 1000);
    EXPECT_FALSE(result.is_error);
    EXPECT_THAT(result.text, HasSubstr("pulling image"));
    EXPECT_THAT(result.text, HasSubstr(operation.id.text()));
    EXPECT_FALSE(result.structure.contains("error"));
}

TEST(Account, of_an_operation_without_output_that_failed_says_why) {
    domain::Operation operation;
    operation.kind = domain::OperationKind::destroy;
    operation.state = domain::OperationState::failed;
    operation.error = "node lost";
    const auto result = account(operation, 1000);
    EXPECT_TRUE(result.is_error);
    EXPECT_THAT(result.text, ::testing::EndsWith("failed: node lost."));
}

TEST(Account, says_when_the_host_has_kept_less_than_was_written) {
    const auto result =
        account(ended({.stdout_text = "abc", .truncated = true, .stdout_bytes = 1000, .duration_ms = 5}), 1000);
    EXPECT_THAT(result.text, HasSubstr("stdout (1000 bytes written, 3 kept by the host):"));
}

TEST(Shown, hides_the_values_of_a_sandboxs_environment) {
    domain::Sandbox sandbox;
    sandbox.spec.env = {{"KEY", "secret"}, {"OTHER", ""}};
    const auto json = shown(sandbox);
    EXPECT_EQ(json["spec"]["env"], (nlohmann::json{{"KEY", "(hidden)"}, {"OTHER", "(hidden)"}}));
    EXPECT_THAT(describe(sandbox), Not(HasSubstr("secret")));
}

TEST(Shown, cuts_both_streams_and_drops_the_exact_bytes_of_what_was_cut) {
    domain::Output output{.stdout_text = std::string(2000, 'x'), .stderr_text = "\xef\xbf\xbd"};
    output.stderr_base64 = "/w==";
    output.stdout_base64 = "eHg=";
    const auto small = shown(ended(output), 1000)["output"];
    EXPECT_EQ(small["stdout_base64"], "eHg=") << "two bytes in truth";
    EXPECT_EQ(small["stderr_base64"], "/w==");

    output.stdout_base64.reset();
    const auto large = shown(ended(output), 1000)["output"];
    EXPECT_THAT(large["stdout"].get<std::string>(), HasSubstr("of 2000 bytes are left out"));
    EXPECT_EQ(large["stdout_base64"], nullptr);
}

client::Failure failure(unsigned status, std::string code, std::string message, Code kind = Code::internal) {
    return {.error = Error(kind, std::move(message)), .code = std::move(code), .request_id = "r-1", .status = status};
}

TEST(Explain, tells_what_to_do_and_never_where_the_server_is) {
    const auto away = explain(failure(0, "", "can't connect to http://10.1.2.3:80: refused", Code::unavailable), "look",
                              Sought::sandbox);
    EXPECT_THAT(away, HasSubstr("SANDBOX_URL"));
    EXPECT_THAT(away, Not(HasSubstr("10.1.2.3")));
    EXPECT_THAT(explain(failure(401, "unauthorized", "no"), "look", Sought::sandbox), HasSubstr("SANDBOX_TOKEN"));
    EXPECT_THAT(explain(failure(404, "not_found", "there is none"), "look", Sought::sandbox),
                HasSubstr("sandbox_list"));
    EXPECT_THAT(explain(failure(409, "conflict", "it is stopped"), "run it", Sought::sandbox),
                StartsWith("Can't run it: it is stopped."));
    EXPECT_THAT(explain(failure(503, "unavailable", "away"), "look", Sought::sandbox), HasSubstr("(request r-1)"));
}

TEST(Explain, says_where_that_is_found_which_was_not) {
    const auto none = failure(404, "not_found", "there is no operation 0199");
    EXPECT_THAT(explain(none, "look", Sought::operation),
                AllOf(HasSubstr("operation.id"), Not(HasSubstr("sandbox_list")), Not(HasSubstr("SANDBOX_URL"))));
    EXPECT_THAT(explain(none, "look", Sought::sandbox),
                AllOf(HasSubstr("sandbox_list"), Not(HasSubstr("SANDBOX_URL"))));
}

// Another prefix, another web server, an older controller.
TEST(Explain, an_answer_that_is_not_the_apis_is_about_the_address) {
    for (const auto& wrong :
         {failure(404, "not_found", "there is no such path"),
          failure(404, "not_found", "the server answered 404 Not Found"),
          failure(302, "unavailable", "the server answered 302 Found; the address of the server is probably not right"),
          failure(405, "method_not_allowed", "the server answered 405 Method Not Allowed"),
          failure(200, "", "the server's answer could not be understood: not valid JSON")})
        for (const auto sought : {Sought::nothing, Sought::sandbox, Sought::operation})
            EXPECT_THAT(explain(wrong, "look", sought), AllOf(HasSubstr("SANDBOX_URL"), Not(HasSubstr("sandbox_list")),
                                                              Not(HasSubstr("operation.id"))));
    EXPECT_THAT(explain(failure(404, "not_found", "whatever"), "ask", Sought::nothing), HasSubstr("SANDBOX_URL"));
}

TEST(Explain, advises_to_try_again_only_what_may_come_right_by_itself) {
    const auto again = [](unsigned status, const char* code, const char* message) {
        return explain(failure(status, code, message), "create the sandbox", Sought::nothing);
    };
    EXPECT_THAT(again(503, "unavailable", "PostgreSQL went away"), HasSubstr("Try again in a moment."));
    EXPECT_THAT(again(429, "rate_limited", "slower"), HasSubstr("Try again in a moment."));
    EXPECT_THAT(
        again(503, "unavailable", "tunnels are not available in this version: create the sandbox without exposures"),
        AllOf(HasSubstr("without exposures"), Not(HasSubstr("ry again"))));
}

TEST(Explain, no_capacity_by_its_gates) {
    auto refused = failure(503, "no_capacity", "no node");
    refused.error = std::move(refused.error).with_details(R"({"nodes":3,"rejected":{"resources":2,"stale":1}})");
    EXPECT_THAT(
        explain(refused, "create", Sought::nothing, "pids (9 asked, at most 5 free on a host)"),
        HasSubstr("of the hosts, 2 short of CPU, memory, disk or processes, 1 silent for too long; short is pids"));
    refused.error = std::move(refused.error).with_details(R"({"nodes":0,"rejected":{}})");
    EXPECT_THAT(explain(refused, "create", Sought::nothing), HasSubstr("there are no hosts"));
    refused.error = std::move(refused.error).with_details(R"({"nodes":1,"rejected":{"reserve":1}})");
    EXPECT_THAT(explain(refused, "create", Sought::nothing),
                HasSubstr("ask for less cpu_millis, memory_mib, disk_mib"));
    EXPECT_THAT(explain(refused, "create", Sought::nothing, "disk_mib (9 asked)"),
                AllOf(HasSubstr("short is disk_mib (9 asked)"), HasSubstr("ask for less of what is short")));
    for (const auto* odd : {"", "{", "[]", R"({"rejected":7})", R"({"rejected":{"new_gate":1}})"}) {
        refused.error = Error(Code::resource_exhausted, "no node");
        refused.error = std::move(refused.error).with_details(odd);
        EXPECT_THAT(explain(refused, "create", Sought::nothing), HasSubstr("Do not weaken isolation"));
    }
}

}  // namespace
}  // namespace sandbox::mcp
