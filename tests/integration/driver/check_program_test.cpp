// sandbox-driver-check as a driver's author runs it.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "driver_fixture.hpp"
#include "host_view.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

class DriverCheck : public DriverTest {
protected:
    [[nodiscard]] Start start_of(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), program("sandbox-driver-check"));
        return {.argv = std::move(arguments), .environment = {{"TMPDIR", temporary_.path()}}};
    }
    [[nodiscard]] Ended check(std::vector<std::string> arguments) const {
        return run_program(start_of(std::move(arguments)), std::chrono::minutes(2));
    }
    /// The test driver behind a script of this test's own; `own` is what it does itself, as branches of a case. Each
    /// action is written to a file first.
    [[nodiscard]] std::string test_driver_but(const std::string& own) {
        return script("echo \"$1\" >> '" + state() + "/actions'\ncase $1 in\n" + own +
                      "\n*) printf %s \"$request\" | '" + fixture("test-driver") + "' \"$1\" ;;\nesac");
    }
    /// What the program has not removed of its temporary files.
    [[nodiscard]] std::vector<std::string> temporary_files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(temporary_.path()))
            names.push_back(entry.path().filename().string());
        return names;
    }
    [[nodiscard]] bool is_doing(const std::string& action) const { return written("actions").ends_with(action + "\n"); }
    /// Whether the driver has made this file in its state directory.
    [[nodiscard]] bool was_written(const std::string& name) const {
        const auto directories = temporary_files();
        return std::ranges::any_of(directories, [&](const std::string& directory) {
            return fs::exists(fs::path(temporary_.path()) / directory / name);
        });
    }
    /// How many processes of the test driver's sandboxes run: they are where its files are, or were.
    [[nodiscard]] std::size_t in_sandboxes() const {
        std::size_t count = 0;
        std::error_code error;
        for (const auto& process : fs::directory_iterator("/proc", error))
            if (fs::read_symlink(process.path() / "cwd", error).string().starts_with(temporary_.path())) ++count;
        return count;
    }

    TemporaryDirectory temporary_;
};

TEST_F(DriverCheck, says_what_holds_and_what_does_not) {
    const auto good = check({fixture("test-driver"), "--only", "create,exec-status,list"});
    EXPECT_EQ(good.status, 0) << good.out << good.err;
    EXPECT_THAT(good.out, HasSubstr("create                 required  holds"));
    EXPECT_THAT(good.out, HasSubstr("\nAll that is required holds.\n"));

    // This driver says plainly that it isolates nothing.
    const auto bad = check({fixture("test-driver"), "--only", "create,host", "--json"});
    EXPECT_EQ(bad.status, 1);
    const auto report = json::parse(bad.out);
    EXPECT_EQ(report["name"], "test-driver (isolates nothing)");
    EXPECT_EQ(report["holds"], false);
    ASSERT_EQ(report["checks"].size(), 2U);
    EXPECT_EQ(report["checks"][0]["holds"], true);
    EXPECT_EQ(report["checks"][1]["name"], "host");
    EXPECT_EQ(report["checks"][1]["holds"], false);
    EXPECT_EQ(report["checks"][1]["detail"], "the host's /tmp is there to read");
}

// Processes of others come and go while it looks through them.
TEST_F(DriverCheck, looks_at_processes_that_end_meanwhile) {
    std::atomic<bool> enough = false;
    std::thread others([&] {
        while (!enough) run_program({.argv = {"true"}});
    });
    for (int i = 0; i < 300; ++i) EXPECT_THAT(driver_check::processes_with("no process has this text"), IsEmpty());
    enough = true;
    others.join();
}

TEST_F(DriverCheck, takes_its_options_in_every_order) {
    const auto driver = fixture("test-driver");
    const std::vector<std::vector<std::string>> lines{
        {"--only", "probe,delete-unknown", driver},
        {"--only=probe,delete-unknown", driver},
        {driver, "--only", "probe,delete-unknown"},
        {driver, "--only=probe,delete-unknown"},
        {"--only", "probe", "--only=delete-unknown", driver},
        {"--only", "probe", driver, "--only", "delete-unknown"},
        {"--json", "--only", "probe,delete-unknown", driver},
        {"--only", "probe,delete-unknown", "--image", "any", driver},
    };
    for (auto line : lines) {
        if (std::ranges::find(line, "--json") == line.end()) line.emplace_back("--json");
        const auto ended = check(line);
        EXPECT_EQ(ended.status, 0) << ::testing::PrintToString(line) << ended.err;
        const auto report = json::parse(ended.out, nullptr, false);
        ASSERT_TRUE(report.is_object()) << ended.out;
        EXPECT_EQ(report["driver"], driver);
        EXPECT_EQ(report["checks"].size(), 2U) << ::testing::PrintToString(line);
    }
    // A second word is a second driver.
    EXPECT_EQ(check({"--only", "probe", "create", driver}).status, 2);
    EXPECT_EQ(check({driver, "--only"}).status, 2);
    EXPECT_EQ(check({driver, "--only", ""}).status, 2);
}

TEST_F(DriverCheck, ends_at_once_with_a_driver_that_can_not_be_used) {
    const auto missing = check({fixture("faults/is-missing")});
    EXPECT_EQ(missing.status, 1);
    EXPECT_THAT(missing.err, HasSubstr("is not there"));
    EXPECT_EQ(check({"relative"}).status, 2);
    EXPECT_EQ(check({"--no-such-flag"}).status, 2);
    EXPECT_EQ(check({"/bin/true", "--only", "no-such-check"}).status, 2);
    EXPECT_THAT(check({"--list"}).out, HasSubstr("network-deny           required"));
}

// It removes the sandbox's directory, and what runs in the sandbox goes on.
TEST_F(DriverCheck, finds_what_a_delete_leaves_running) {
    const auto driver = test_driver_but(R"sh(delete)
        id=$(printf %s "$request" | grep -o '"sandbox_id":"[^"]*' | cut -d '"' -f 4)
        rm -rf "$SANDBOX_STATE_DIR/test-driver/$id"
        echo '{"success": true, "result": {}, "error": null}' ;;)sh");
    const auto ended = check({driver, "--json", "--only", "delete,create-start-up,exec-background,exec-cwd"});
    EXPECT_EQ(ended.status, 1) << ended.err;
    const auto report = json::parse(ended.out);
    for (const auto& entry : report["checks"]) {
        EXPECT_EQ(entry["holds"], entry["name"] == "exec-cwd") << entry;
        if (entry["holds"] == false)
            EXPECT_THAT(entry["detail"].get<std::string>(), HasSubstr("still there after its delete")) << entry;
    }
    EXPECT_EQ(in_sandboxes(), 0U);  // the program does not leave them either

    const auto good = check({fixture("test-driver"), "--only", "delete"});
    EXPECT_EQ(good.status, 0) << good.out;
    EXPECT_THAT(good.out, HasSubstr("nothing of it is left"));
}

}  // namespace
}  // namespace sandbox::test
