#include <mcp_clients.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

const Bridge kBridge{.program = "/opt/sand \"box\"/sandbox-mcp",
                     .server = "https://sandbox.example.com/prefix",
                     .ca_file = std::nullopt};
const Json kUrl(kBridge.server);
const Json kProgram(kBridge.program);

Json config(std::string_view client) {
    return find_mcp_client(client)->json(kBridge);
}

// Claude Code and Cursor name the server's variables in their own ways.
TEST(McpClients, of_the_mcpServers_kind_take_the_token_from_their_environment) {
    const auto claude = config("claude")["mcpServers"]["sandbox"];
    EXPECT_EQ(claude["command"], kProgram);
    EXPECT_EQ(claude["env"], (Json{{"SANDBOX_URL", kUrl}, {"SANDBOX_TOKEN", "${SANDBOX_TOKEN:-}"}}));

    const auto cursor = config("cursor")["mcpServers"]["sandbox"];
    EXPECT_EQ(cursor["command"], kProgram);
    EXPECT_EQ(cursor["env"], (Json{{"SANDBOX_URL", kUrl}, {"SANDBOX_TOKEN", "${env:SANDBOX_TOKEN}"}}));

    const auto gemini = config("gemini")["mcpServers"]["sandbox"];
    EXPECT_EQ(gemini["command"], kProgram);
    EXPECT_EQ(gemini["env"], (Json{{"SANDBOX_URL", kUrl}, {"SANDBOX_TOKEN", "$SANDBOX_TOKEN"}}));
    EXPECT_EQ(gemini["timeout"], 960000);
}

TEST(McpClients, opencode_has_a_local_server_with_a_command_list) {
    const auto opencode = config("opencode")["mcp"]["sandbox"];
    EXPECT_EQ(opencode["type"], "local");
    EXPECT_EQ(opencode["command"], (Json::array({kProgram})));
    EXPECT_EQ(opencode["environment"], (Json{{"SANDBOX_URL", kUrl}, {"SANDBOX_TOKEN", "{env:SANDBOX_TOKEN}"}}));
    EXPECT_EQ(opencode["enabled"], true);
}

// VS Code asks once and keeps the answer in its secret store.
TEST(McpClients, vscode_asks_for_the_token_as_a_password) {
    const auto document = config("vscode");
    EXPECT_EQ(document["servers"]["sandbox"]["env"]["SANDBOX_TOKEN"], "${input:sandbox-token}");
    ASSERT_EQ(document["inputs"].size(), 1U);
    EXPECT_EQ(document["inputs"][0]["type"], "promptString");
    EXPECT_EQ(document["inputs"][0]["id"], "sandbox-token");
    EXPECT_EQ(document["inputs"][0]["password"], true);
}

TEST(McpClients, codex_has_a_table_that_passes_the_variable_on) {
    const auto document = toml::parse(find_mcp_client("codex")->text(kBridge));
    const auto server = document["mcp_servers"]["sandbox"];
    EXPECT_EQ(server["command"].value<std::string>(), kBridge.program);
    EXPECT_EQ(server["env_vars"][0].value<std::string>(), "SANDBOX_TOKEN");
    EXPECT_EQ(server["tool_timeout_sec"].value<int>(), 960);
    EXPECT_EQ(server["env"]["SANDBOX_URL"].value<std::string>(), kBridge.server);
    EXPECT_EQ(server["env"].as_table()->size(), 1U);
}

TEST(McpClients, goose_has_an_extension_that_reads_the_token_from_its_own_store) {
    EXPECT_EQ(find_mcp_client("goose")->text(kBridge), R"(extensions:
  sandbox:
    name: sandbox
    description: Disposable machines for running code
    type: stdio
    enabled: true
    cmd: "/opt/sand \"box\"/sandbox-mcp"
    args: []
    timeout: 960
    env_keys: [SANDBOX_TOKEN]  # [] for a server that wants no token
    envs:
      SANDBOX_URL: "https://sandbox.example.com/prefix"
)");
}

// A private authority has to reach the bridge too.
TEST(McpClients, pass_the_authorities_on) {
    auto bridge = kBridge;
    bridge.ca_file = "/etc/sandbox/ca.pem";
    for (const auto& client : mcp_clients()) {
        const auto text = client.json != nullptr ? client.json(bridge).dump() : client.text(bridge);
        EXPECT_THAT(text, HasSubstr("SANDBOX_CA_FILE")) << client.name;
        EXPECT_THAT(text, HasSubstr("/etc/sandbox/ca.pem")) << client.name;
    }
}

TEST(McpClients, have_a_common_form_for_all_others) {
    EXPECT_EQ(
        common_mcp_config("http://127.0.0.1:8080"),
        (Json{
            {"mcpServers",
             {{"sandbox",
               {{"command", "sandbox-mcp"},
                {"env",
                 {{"SANDBOX_URL", "http://127.0.0.1:8080"}, {"SANDBOX_TOKEN", "use-your-client-secret-store"}}}}}}}}));
}

}  // namespace
}  // namespace sandbox::cli
