#include <cstdlib>
#include <options.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::mcp {
namespace {

/// The bridge's variables for the time of one test.
class OptionsTest : public ::testing::Test {
protected:
    OptionsTest() {
        for (const auto* name : kNames) ::unsetenv(name);
    }
    ~OptionsTest() override {
        for (const auto* name : kNames) ::unsetenv(name);
    }
    static void set(const char* name, const char* value) { ::setenv(name, value, 1); }

private:
    static constexpr const char* kNames[] = {"SANDBOX_URL",           "SANDBOX_TOKEN",  "SANDBOX_CA_FILE",
                                             "SANDBOX_MCP_READ_ONLY", "SANDBOX_TENANT", "SANDBOX_MCP_MAX_OUTPUT"};
};

TEST_F(OptionsTest, have_defaults) {
    const auto options = read_command_line({}).options.value();
    EXPECT_EQ(options.server.text(), "http://127.0.0.1:8080");
    EXPECT_TRUE(options.token.empty());
    EXPECT_FALSE(options.ca_file);
    EXPECT_FALSE(options.read_only);
    EXPECT_FALSE(options.tenant);
    EXPECT_EQ(options.max_output, 10000U);
}

TEST_F(OptionsTest, come_from_the_environment) {
    set("SANDBOX_URL", "https://sandbox.example.com/prefix");
    set("SANDBOX_TOKEN", "a-token");
    set("SANDBOX_CA_FILE", "/ca.pem");
    set("SANDBOX_MCP_READ_ONLY", "true");
    set("SANDBOX_TENANT", "team");
    set("SANDBOX_MCP_MAX_OUTPUT", "500");
    const auto options = read_command_line({}).options.value();
    EXPECT_EQ(options.server.text(), "https://sandbox.example.com/prefix");
    EXPECT_EQ(options.token.reveal(), "a-token");
    EXPECT_EQ(options.ca_file, "/ca.pem");
    EXPECT_TRUE(options.read_only);
    EXPECT_EQ(options.tenant, "team");
    EXPECT_EQ(options.max_output, 500U);
}

TEST_F(OptionsTest, on_the_command_line_win_and_an_empty_variable_counts_as_none) {
    set("SANDBOX_URL", "http://127.0.0.1:1");
    set("SANDBOX_TENANT", "");
    set("SANDBOX_MCP_READ_ONLY", "false");
    const auto options = read_command_line({"--server", "http://127.0.0.1:2", "--max-output=300"}).options.value();
    EXPECT_EQ(options.server.port, 2);
    EXPECT_FALSE(options.tenant);
    EXPECT_FALSE(options.read_only);
    EXPECT_EQ(options.max_output, 300U);
}

// A client starts it with variables for everybody and options for one server: what was meant must not be lost quietly.
TEST_F(OptionsTest, that_are_wrong_are_refused_with_their_name) {
    set("SANDBOX_URL", "not a url");
    EXPECT_THAT(read_command_line({}).problem, ::testing::HasSubstr("SANDBOX_URL"));
    set("SANDBOX_URL", "unix:///socket");
    EXPECT_THAT(read_command_line({}).problem, ::testing::HasSubstr("http"));
    set("SANDBOX_URL", "");
    set("SANDBOX_MCP_MAX_OUTPUT", "10");
    EXPECT_FALSE(read_command_line({}).problem.empty());
}

}  // namespace
}  // namespace sandbox::mcp
