#include <fstream>

#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

/// Needs no server.
class Config : public ::testing::Test {
protected:
    TemporaryDirectory home_;

    [[nodiscard]] Ended run(Words words, Variables more = {}) const {
        auto start = command("", home_, std::move(words));
        start.environment["SANDBOX_URL"] = std::nullopt;
        for (auto& [name, value] : more) start.environment[name] = std::move(value);
        return run_program(start);
    }
};

TEST_F(Config, is_saved_and_shown) {
    const auto path = home_.path() + "/.config/sandbox/config.json";
    const auto set = run({"config", "set-server", "https://sandbox.example.com/prefix/", "--json"});
    const auto shown = run({"config", "show", "--json"});

    EXPECT_EQ(nlohmann::json::parse(set.out),
              (nlohmann::json{{"config_path", path}, {"server", "https://sandbox.example.com/prefix"}}));
    EXPECT_EQ(nlohmann::json::parse(shown.out), (nlohmann::json{{"config_path", path},
                                                                {"server", "https://sandbox.example.com/prefix"},
                                                                {"token_configured", false}}));
    EXPECT_THAT(run({"config", "show"}).out, HasSubstr("https://sandbox.example.com/prefix (saved)"));
    EXPECT_THAT(run({"config", "show"}, {{"SANDBOX_TOKEN", "s3cr3t"}}).out,
                AllOf(HasSubstr("configured"), Not(HasSubstr("s3cr3t"))));
}

TEST_F(Config, is_used_for_requests) {
    ASSERT_EQ(run({"config", "set-server", "http://127.0.0.1:9"}).status, 0);
    EXPECT_THAT(run({"list"}).err, HasSubstr("http://127.0.0.1:9"));
    EXPECT_THAT(run({"list", "--server", "http://127.0.0.1:10"}).err, HasSubstr("http://127.0.0.1:10"));
    EXPECT_THAT(run({"list"}, {{"SANDBOX_URL", "http://127.0.0.1:11"}}).err, HasSubstr("http://127.0.0.1:11"));
}

// SANDBOX_CONFIG may name the daemon's file.
TEST_F(Config, leaves_the_daemons_file_alone) {
    const auto path = home_.path() + "/sandbox.toml";
    std::ofstream(path) << "[server]\nbind = \"127.0.0.1:8080\"\n";

    const auto set = run({"config", "set-server", "http://127.0.0.1:9"}, {{"SANDBOX_CONFIG", path}});
    const auto list = run({"list"}, {{"SANDBOX_CONFIG", path}});
    const auto explicit_server = run({"list", "--server", "http://127.0.0.1:9"}, {{"SANDBOX_CONFIG", path}});

    EXPECT_EQ(set.status, 1);
    EXPECT_THAT(set.err, HasSubstr("left as it is"));
    EXPECT_THAT(list.err, HasSubstr("does not hold this command's settings"));
    EXPECT_THAT(explicit_server.err, HasSubstr("Connection refused"));
}

TEST_F(Config, refuses_addresses_with_secrets_without_showing_them) {
    const auto ended = run({"config", "set-server", "http://user:hunter2@host"});
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, Not(HasSubstr("hunter2")));
}

// agent list works with no server at all.
TEST_F(Config, is_not_needed_for_the_list_of_agents) {
    const auto ended = run({"agent", "list", "--json"});
    const auto list = nlohmann::json::parse(ended.out);

    EXPECT_EQ(list.size(), 7U);
    EXPECT_EQ(list[1]["name"], "claude");
    EXPECT_EQ(list[1]["default_image"], "sandbox-agent-claude:local");
    EXPECT_TRUE(list[6]["default_image"].is_null());
    EXPECT_THAT(run({"agent", "list"}).out, HasSubstr("Claude Code"));
}

TEST_F(Config, is_not_needed_for_help_and_version) {
    EXPECT_THAT(run({"--help"}).out, HasSubstr("Commands:"));
    EXPECT_EQ(run({"--help"}).status, 0);
    EXPECT_THAT(run({"--version"}).out, MatchesRegex("sandbox [0-9.]+ .*\n"));
}

}  // namespace
}  // namespace sandbox::test
