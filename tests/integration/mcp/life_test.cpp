// How the program starts and how it leaves.
#include <csignal>
#include <filesystem>
#include <netinet/in.h>
#include <support/mcp_program.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;

TEST(Life, ends_with_its_input) {
    McpProgram bridge;
    bridge.initialize();
    bridge.process().close_input();
    EXPECT_EQ(bridge.process().wait(10s), 0);
    EXPECT_FALSE(bridge.process().read_line(10s));
}

TEST(Life, ends_with_sigterm_and_sigint) {
    for (const int signal : {SIGTERM, SIGINT}) {
        McpProgram bridge;
        bridge.initialize();
        bridge.process().signal(signal);
        EXPECT_EQ(bridge.process().wait(10s), 0);
    }
}

TEST(Life, answers_what_came_before_the_end_of_input_also_without_a_last_newline) {
    McpProgram bridge;
    bridge.process().write(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"
                           "\n"
                           R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
    bridge.process().close_input();
    EXPECT_EQ(bridge.next()["id"], 1);
    EXPECT_EQ(bridge.next()["id"], 2);
    EXPECT_EQ(bridge.process().wait(10s), 0);
}

// A shell's `sandbox-mcp < questions` and `< /dev/null`: files can't be waited for.
TEST(Life, reads_a_file_as_well_as_a_pipe) {
    const auto ended = run_program({.argv = {program("sandbox-mcp")},
                                    .input = R"({"jsonrpc":"2.0","id":1,"method":"ping"})"
                                             "\n"});
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.out, R"({"jsonrpc":"2.0","id":1,"result":{}})"
                         "\n");
    EXPECT_EQ(ended.err, "");
}

TEST(Life, leaves_when_nobody_takes_its_answers_any_more) {
    const auto ended = run_program({.argv = {"sh", "-c",
                                             "{ while echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}'; "
                                             "do :; done; } | \"$0\" | head -n 1",
                                             program("sandbox-mcp")}});
    EXPECT_THAT(ended.out, HasSubstr("\"id\":1"));
}

// A client that asks and asks and reads nothing must not fill our memory, and gets all its answers when it reads.
TEST(Life, waits_for_a_client_that_reads_late) {
    McpProgram bridge;
    bridge.initialize();
    constexpr int kAsked = 100;
    std::string questions;
    for (int i = 0; i < kAsked; ++i)
        questions += json{{"jsonrpc", "2.0"}, {"id", "q" + std::to_string(i)}, {"method", "tools/list"}}.dump() + "\n";
    bridge.process().write(questions);
    for (int i = 0; i < kAsked; ++i) ASSERT_EQ(bridge.next()["id"], "q" + std::to_string(i));
}

TEST(Life, leaves_also_while_the_client_reads_nothing) {
    McpProgram bridge;
    bridge.initialize();
    for (int i = 0; i < 20; ++i) bridge.request("tools/list");  // more than a pipe holds
    bridge.process().signal(SIGTERM);
    EXPECT_EQ(bridge.process().wait(10s), 0);
}

// Whatever a library writes to standard output must not end up in the protocol.
TEST(Life, standard_output_of_the_rest_of_the_process_is_standard_error) {
    McpProgram bridge;
    bridge.initialize();
    const auto descriptor = [&](int number) {
        return std::filesystem::read_symlink("/proc/" + std::to_string(bridge.process().pid()) + "/fd/" +
                                             std::to_string(number));
    };
    EXPECT_EQ(descriptor(1), descriptor(2));
}

TEST(Life, starting_touches_no_server) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::listen(listener, 8), 0);
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);

    McpProgram bridge("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
    bridge.initialize();
    bridge.result("tools/list");
    bridge.result("resources/read", {{"uri", "sandbox://capabilities"}});
    bridge.tool("sandbox_agent_list");
    EXPECT_EQ(::accept(listener, nullptr, nullptr), -1);
    EXPECT_EQ(errno, EAGAIN);
    ::close(listener);
}

TEST(Life, says_its_version_and_its_options) {
    const auto run = [](std::vector<std::string> words) {
        words.insert(words.begin(), program("sandbox-mcp"));
        return run_program({.argv = std::move(words)});
    };
    EXPECT_THAT(run({"--version"}).out, ::testing::StartsWith("sandbox-mcp "));
    const auto help = run({"--help"});
    EXPECT_EQ(help.status, 0);
    for (const auto* option :
         {"--server", "SANDBOX_URL", "--token", "SANDBOX_TOKEN", "--ca-file", "SANDBOX_CA_FILE", "--read-only",
          "SANDBOX_MCP_READ_ONLY", "--tenant", "SANDBOX_TENANT", "--max-output", "SANDBOX_MCP_MAX_OUTPUT"})
        EXPECT_THAT(help.out, HasSubstr(option));
}

TEST(Life, refuses_a_wrong_command_line_on_standard_error) {
    const std::vector<std::string> kWrong[] = {{"--no-such"},
                                               {"word"},
                                               {"--server", "ftp://127.0.0.1"},
                                               {"--server", "http://user:secret@127.0.0.1"},
                                               {"--max-output", "-1"},
                                               {"--max-output", "lots"}};
    for (auto words : kWrong) {
        words.insert(words.begin(), program("sandbox-mcp"));
        const auto ended = run_program({.argv = words});
        EXPECT_EQ(ended.status, 2) << words[1];
        EXPECT_EQ(ended.out, "");
        EXPECT_THAT(ended.err, HasSubstr("sandbox-mcp: "));
        EXPECT_THAT(ended.err, ::testing::Not(HasSubstr("secret")));
    }
}

}  // namespace
}  // namespace sandbox::test
