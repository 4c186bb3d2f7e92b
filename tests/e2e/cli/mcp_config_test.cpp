#include <filesystem>

#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

/// Needs no server.
class McpConfig : public ::testing::Test {
protected:
    TemporaryDirectory home_;

    [[nodiscard]] Ended run(Words words) const {
        auto start = command("http://127.0.0.1:9", home_, std::move(words));
        start.environment["SANDBOX_TOKEN"] = "s3cr3t-token-of-some-forty-characters-xx";
        return run_program(start);
    }
};

TEST_F(McpConfig, without_a_client_is_the_form_that_most_read) {
    const auto ended = run({"mcp-config"});

    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(
        nlohmann::json::parse(ended.out),
        (nlohmann::json{
            {"mcpServers",
             {{"sandbox",
               {{"command", "sandbox-mcp"},
                {"env",
                 {{"SANDBOX_URL", "http://127.0.0.1:9"}, {"SANDBOX_TOKEN", "use-your-client-secret-store"}}}}}}}}));
}

// A client is started anywhere, with any path: it needs the whole one.
TEST_F(McpConfig, for_a_client_has_the_absolute_path_beside_this_program) {
    const auto path = std::filesystem::canonical(program("sandbox")).parent_path() / "sandbox-mcp";
    const auto document = nlohmann::json::parse(run({"mcp-config", "--client", "claude"}).out);

    EXPECT_EQ(document["mcpServers"]["sandbox"]["command"], path.string());
    EXPECT_EQ(document["mcpServers"]["sandbox"]["env"]["SANDBOX_URL"], "http://127.0.0.1:9");
}

TEST_F(McpConfig, never_has_the_token) {
    EXPECT_THAT(run({"mcp-config"}).out, Not(HasSubstr("s3cr3t")));
    for (const std::string client : {"claude", "codex", "gemini", "opencode", "vscode", "cursor", "goose"}) {
        const auto ended = run({"mcp-config", "--client", client, "--token", "another-s3cr3t"});
        EXPECT_EQ(ended.status, 0) << client;
        EXPECT_THAT(ended.out, HasSubstr("sandbox-mcp")) << client;
        EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("s3cr3t"))) << client;
    }
}

// --json stays one document, also for the formats that are none.
TEST_F(McpConfig, is_one_document_with_json) {
    for (const std::string client : {"claude", "codex", "gemini", "opencode", "vscode", "cursor", "goose"}) {
        const auto ended = run({"--json", "mcp-config", "--client", client});
        EXPECT_TRUE(nlohmann::json::accept(ended.out)) << ended.out;
        EXPECT_EQ(ended.err, "");
    }
    const auto codex = nlohmann::json::parse(run({"--json", "mcp-config", "--client", "codex"}).out);
    EXPECT_EQ(codex["format"], "toml");
    EXPECT_THAT(codex["text"].get<std::string>(), StartsWith("[mcp_servers.sandbox]\n"));
}

TEST_F(McpConfig, refuses_a_client_that_it_does_not_know) {
    const auto ended = run({"mcp-config", "--client", "emacs"});
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr("goose"));
}

}  // namespace
}  // namespace sandbox::test
