#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <settings.hpp>
#include <sstream>
#include <support/process.hpp>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using ::testing::HasSubstr;

Environment variables(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const char* name) -> std::optional<std::string> {
        const auto found = values.find(name);
        return found == values.end() ? std::nullopt : std::optional(found->second);
    };
}

std::string content_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

mode_t mode_of(const std::string& path) {
    struct stat status{};
    ::stat(path.c_str(), &status);
    return status.st_mode & 07777;
}

class SavedSettings : public ::testing::Test {
protected:
    test::TemporaryDirectory folder_;
    std::string path_ = folder_.path() + "/config.json";

    void write(std::string_view content) const { std::ofstream(path_) << content; }
};

TEST(SettingsPath, goes_from_the_most_particular_place_to_the_usual_one) {
    EXPECT_EQ(*settings_path(variables({{"SANDBOX_CONFIG", "/a/b"}, {"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}})),
              "/a/b");
    EXPECT_EQ(*settings_path(variables({{"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}})), "/x/sandbox/config.json");
    EXPECT_EQ(*settings_path(variables({{"HOME", "/h"}})), "/h/.config/sandbox/config.json");
    EXPECT_FALSE(settings_path(variables({})));
    EXPECT_THAT(settings_path(variables({{"SANDBOX_CONFIG", "sandbox.toml"}})).error().message(),
                HasSubstr("absolute"));
}

TEST_F(SavedSettings, come_back_as_they_were_saved_readable_by_their_owner_alone) {
    const auto deep = folder_.path() + "/new/folders/config.json";

    ASSERT_TRUE(save_server(deep, "https://sandbox.example.com/prefix"));

    EXPECT_EQ(**saved_server(deep), "https://sandbox.example.com/prefix");
    EXPECT_EQ(mode_of(deep), 0600U);
    EXPECT_EQ(mode_of(folder_.path() + "/new"), 0700U);
    ASSERT_TRUE(save_server(deep, "http://127.0.0.1:9"));
    EXPECT_EQ(**saved_server(deep), "http://127.0.0.1:9");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path() + "/new/folders"), {}), 1);
}

TEST_F(SavedSettings, are_none_when_there_is_no_file) {
    EXPECT_EQ(*saved_server(path_), std::nullopt);
}

// SANDBOX_CONFIG may name the daemon's own file; whatever is not ours stays as it is.
TEST_F(SavedSettings, never_replace_a_file_that_is_not_theirs) {
    for (const auto* foreign : {"[server]\nbind = \"0.0.0.0:8080\"\n", "", "[1]", R"({"server": 5})",
                                R"({"server": "http://a", "mcpServers": {}})", R"({"server": "http)"}) {
        write(foreign);
        const auto saved = save_server(path_, "http://127.0.0.1:9");
        ASSERT_FALSE(saved) << foreign;
        EXPECT_THAT(saved.error().message(), HasSubstr("left as it is"));
        EXPECT_EQ(content_of(path_), foreign);
    }
}

TEST_F(SavedSettings, never_replace_what_is_no_file) {
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);

    EXPECT_FALSE(save_server(path_, "http://127.0.0.1:9"));
    EXPECT_FALSE(save_server(folder_.path(), "http://127.0.0.1:9"));
}

// Dotfile collections link to the real file.
TEST_F(SavedSettings, keep_a_symbolic_link) {
    const auto target = folder_.path() + "/real.json";
    std::ofstream(target) << R"({"server": "http://a"})";
    std::filesystem::create_symlink(target, path_);

    ASSERT_TRUE(save_server(path_, "http://127.0.0.1:9"));

    EXPECT_TRUE(std::filesystem::is_symlink(path_));
    EXPECT_EQ(**saved_server(target), "http://127.0.0.1:9");
}

TEST_F(SavedSettings, decide_the_server_unless_something_nearer_does) {
    write(R"({"server": "http://saved:1"})");
    const auto saved = variables({{"SANDBOX_CONFIG", path_}});
    const auto both = variables({{"SANDBOX_CONFIG", path_}, {"SANDBOX_URL", "http://variable:2"}});

    EXPECT_EQ(choose_server("http://option:3", both)->url.text(), "http://option:3");
    EXPECT_EQ(choose_server(std::nullopt, both)->url.text(), "http://variable:2");
    EXPECT_EQ(choose_server(std::nullopt, saved)->url.text(), "http://saved:1");
    EXPECT_EQ(choose_server(std::nullopt, variables({{"HOME", folder_.path()}}))->url.text(), "http://127.0.0.1:8080");
}

// A broken file must not keep anybody from naming the server.
TEST_F(SavedSettings, that_are_broken_matter_only_when_they_decide) {
    write("{");
    const auto broken = variables({{"SANDBOX_CONFIG", path_}});

    EXPECT_TRUE(choose_server("http://option:3", broken));
    const auto failed = choose_server(std::nullopt, broken);
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message(), HasSubstr("--server or SANDBOX_URL"));
}

TEST(ServerAddress, is_http_or_https_with_a_host_and_nothing_secret) {
    EXPECT_EQ(parse_server("https://sandbox.example.com/prefix/")->text(), "https://sandbox.example.com/prefix");
    for (const auto* bad :
         {"http://a b", "unix:///var/run/docker.sock", "tcp://127.0.0.1:1", "ftp://a", "127.0.0.1:8080", "http://", "",
          "http://user:hunter2@host", "http://host?token=hunter2", "http://host#hunter2"}) {
        const auto parsed = parse_server(bad);
        ASSERT_FALSE(parsed) << bad;
        EXPECT_THAT(parsed.error().message(), Not(HasSubstr("hunter2")));
        // Nor is an address recommended that would be refused too.
        EXPECT_THAT(parsed.error().message(), Not(HasSubstr("unix:"))) << bad;
    }
}

}  // namespace
}  // namespace sandbox::cli
