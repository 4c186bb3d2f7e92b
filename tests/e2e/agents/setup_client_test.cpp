#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <support/process.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// A home and a folder of programs of its own. The clients in it are stand-ins that write down what they were told;
/// clients.sh does the same with the real ones.
class SetupClient : public ::testing::Test {
protected:
    SetupClient() {
        add_program("sandbox", "exec " + program("sandbox") + " \"$@\"");
        add_program("sandbox-mcp", "exit 0");
    }
    void add_program(const std::string& name, const std::string& lines) const {
        const auto path = programs_.path() + "/" + name;
        std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
        fs::permissions(path, fs::perms::owner_all);
    }
    /// Answers `mcp get sandbox` by what was told before.
    void add_client(const std::string& name, const std::string& after = "") const {
        add_program(name, "case \"$*\" in *get*) grep -q add \"$HOME/" + name + ".log\" 2>/dev/null; exit;; esac\n" +
                              "env | grep ^SANDBOX_TOKEN >> \"$HOME/" + name + ".log\"\n" + "echo \"$*\" >> \"$HOME/" +
                              name + ".log\"\n" + after);
    }
    [[nodiscard]] Ended setup(std::vector<std::string> options = {}) const {
        options.insert(options.begin(), std::string(SANDBOX_SOURCE_DIR) + "/scripts/setup-client.sh");
        return run_program({.argv = std::move(options),
                            .environment = {{"HOME", home_.path()},
                                            {"PATH", programs_.path() + ":/usr/bin:/bin"},
                                            {"SANDBOX_URL", "https://sandbox.example.com"},
                                            {"SANDBOX_TOKEN", "s3cr3t-token"},
                                            {"CODEX_HOME", std::nullopt},
                                            {"CLAUDE_CONFIG_DIR", std::nullopt}}});
    }
    [[nodiscard]] std::string file(const std::string& name) const {
        std::ifstream stream(home_.path() + "/" + name);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    TemporaryDirectory home_;
    TemporaryDirectory programs_;
};

TEST_F(SetupClient, registers_the_bridge_with_its_path_and_server_and_without_the_token) {
    add_client("claude");
    add_client("codex",
               "mkdir -p \"$HOME/.codex\"; printf '[mcp_servers.sandbox]\\ncommand = \"x\"\\n' >> "
               "\"$HOME/.codex/config.toml\"");
    add_client("gemini");

    const auto ended = setup();

    EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
    const auto bridge = fs::canonical(programs_.path()).string() + "/sandbox-mcp";
    const std::string url = "--env=SANDBOX_URL=https://sandbox.example.com";
    EXPECT_EQ(file("claude.log"), "mcp add --scope user sandbox " + url + " -- " + bridge + "\n");
    EXPECT_EQ(file("codex.log"), "mcp add sandbox " + url + " -- " + bridge + "\n");
    EXPECT_EQ(file("gemini.log"), "mcp add --scope user --timeout 960000 " + url +
                                      " --env=SANDBOX_TOKEN=$SANDBOX_TOKEN sandbox " + bridge + "\n");
    EXPECT_EQ(file(".codex/config.toml"),
              "[mcp_servers.sandbox]\nenv_vars = [\"SANDBOX_TOKEN\"]\ntool_timeout_sec = 960\ncommand = \"x\"\n");
    EXPECT_THAT(ended.out, HasSubstr("GEMINI_CLI_TRUST_WORKSPACE=true")) << "it starts nothing elsewhere";
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("s3cr3t")));
    EXPECT_TRUE(fs::exists(home_.path() + "/.claude/skills/sandbox-platform/SKILL.md"));
}

// What somebody has set up is theirs.
TEST_F(SetupClient, leaves_alone_what_is_there) {
    add_client("claude");
    std::ofstream(home_.path() + "/claude.log") << "add\n";
    std::ofstream(home_.path() + "/.claude.json") << "{}";
    fs::create_directories(home_.path() + "/.claude/skills/sandbox-platform");

    const auto ended = setup();

    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(file("claude.log"), "add\n");
    EXPECT_THAT(ended.out, HasSubstr("has an entry \"sandbox\" already: left alone"));
    EXPECT_THAT(ended.out, HasSubstr("has another skill"));
    EXPECT_TRUE(fs::is_empty(home_.path() + "/.claude/skills/sandbox-platform"));
}

TEST_F(SetupClient, changes_nothing_in_a_dry_run) {
    add_client("claude");
    add_client("codex");

    const auto ended = setup({"--dry-run"});

    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("would run: claude mcp add --scope user sandbox"));
    EXPECT_THAT(ended.out, HasSubstr("would link"));
    EXPECT_TRUE(fs::is_empty(home_.path()));
}

// Twice is as good as once; each half can be had alone.
TEST_F(SetupClient, does_one_half_when_asked_and_may_be_repeated) {
    add_client("claude");

    EXPECT_EQ(setup({"--no-mcp"}).status, 0);
    EXPECT_EQ(file("claude.log"), "");
    EXPECT_TRUE(fs::is_symlink(home_.path() + "/.claude/skills/sandbox-platform"));
    EXPECT_THAT(setup({"--no-mcp"}).out, HasSubstr("has the skill already"));

    EXPECT_EQ(setup({"--no-skill"}).status, 0);
    EXPECT_THAT(file("claude.log"), HasSubstr("mcp add"));
}

TEST_F(SetupClient, says_which_client_would_not_take_it) {
    add_program("claude", "case \"$*\" in *get*) exit 1;; esac; echo 'not today' >&2; exit 1");

    const auto ended = setup();

    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.out, HasSubstr("could not be told: not today"));
}

}  // namespace
}  // namespace sandbox::test
