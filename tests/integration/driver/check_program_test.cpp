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

#include "check_fixture.hpp"
#include "host_view.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

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
    EXPECT_EQ(report["error"], nullptr);
    ASSERT_EQ(report["checks"].size(), 2U);
    EXPECT_EQ(report["checks"][0]["holds"], true);
    EXPECT_EQ(report["checks"][1]["name"], "host");
    EXPECT_EQ(report["checks"][1]["holds"], false);
    EXPECT_EQ(report["checks"][1]["detail"], "the host's /tmp is there to read");
    EXPECT_THAT(temporary_files(), IsEmpty());
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

TEST_F(DriverCheck, ends_at_once_with_a_driver_that_can_not_be_tried) {
    const auto missing = check({fixture("faults/is-missing")});
    EXPECT_EQ(missing.status, 2);
    EXPECT_THAT(missing.err, HasSubstr("is not there"));
    EXPECT_EQ(missing.out, "");
    EXPECT_EQ(check({"relative"}).status, 2);
    EXPECT_EQ(check({"--no-such-flag"}).status, 2);
    EXPECT_EQ(check({"/bin/true", "--only", "no-such-check"}).status, 2);
    EXPECT_THAT(check({"--list"}).out, HasSubstr("network-deny           required"));

    const auto plain = state() + "/plain";
    std::ofstream(plain) << "#!/bin/sh\n";
    EXPECT_EQ(check({plain}).status, 2);
    EXPECT_EQ(check({state()}).status, 2);
    for (const auto* text : {"#!/no/such/interpreter\n",
                             "\x7F"
                             "ELF"}) {
        std::ofstream(plain, std::ios::trunc) << text;
        fs::permissions(plain, fs::perms::owner_all);
        const auto unusable = check({plain});
        EXPECT_EQ(unusable.status, 2) << unusable.err;
        EXPECT_THAT(unusable.err, HasSubstr("can't be run"));
    }
    EXPECT_THAT(temporary_files(), IsEmpty());
}

TEST_F(DriverCheck, can_not_try_a_driver_without_the_launcher) {
    const auto alone = state() + "/sandbox-driver-check";
    fs::copy_file(program("sandbox-driver-check"), alone);
    const auto ended = run_program({.argv = {alone, fixture("test-driver"), "--json"}});
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err,
                HasSubstr("there is no sandbox-driver-run program at " + state() + "/sandbox-driver-run and "));
    EXPECT_THAT(ended.err, HasSubstr("libexec/sandbox/sandbox-driver-run"));
    EXPECT_THAT(json::parse(ended.out)["error"].get<std::string>(),
                HasSubstr("there is no sandbox-driver-run program"));
}

// A driver that runs and answers no probe breaks its contract; one that can't be run was not tried.
TEST_F(DriverCheck, prints_one_document_in_every_case) {
    const auto mute = check({script("exit 3"), "--json", "--only", "create"});
    EXPECT_EQ(mute.status, 1);
    auto report = json::parse(mute.out);
    EXPECT_EQ(report["holds"], false);
    ASSERT_EQ(report["checks"].size(), 1U);
    EXPECT_EQ(report["checks"][0]["name"], "probe");
    EXPECT_EQ(report["checks"][0]["holds"], false);
    EXPECT_THAT(report["checks"][0]["detail"].get<std::string>(), HasSubstr("it ended with exit status 3"));

    const auto driver = fixture("faults/is-missing");
    const std::vector<std::vector<std::string>> lines{
        {driver, "--json"},
        {"--json", "relative"},
        {"--json"},
        {"--json", driver, "--only", "no-such-check"},
        {"--no-such-flag", "--json", driver},
        {driver, "--json", "--state-dir"},
    };
    for (const auto& line : lines) {
        const auto ended = check(line);
        EXPECT_EQ(ended.status, 2) << ::testing::PrintToString(line);
        report = json::parse(ended.out, nullptr, false);
        ASSERT_TRUE(report.is_object()) << ::testing::PrintToString(line) << ended.out;
        EXPECT_EQ(report["holds"], nullptr);
        EXPECT_EQ(report["checks"], json::array());
        EXPECT_THAT(ended.err, HasSubstr(report["error"].get<std::string>()));
    }
    auto nowhere = start_of({fixture("test-driver"), "--json"});
    nowhere.environment["TMPDIR"] = "/no/such/directory";
    const auto without_room = run_program(nowhere);
    EXPECT_EQ(without_room.status, 2);
    EXPECT_THAT(json::parse(without_room.out)["error"].get<std::string>(), HasSubstr("No such file or directory"));
    const auto list = json::parse(check({"--list", "--json"}).out);
    EXPECT_EQ(list["checks"][0]["name"], "probe");
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

// Only the delete of a sandbox can remove what the driver made; its files are no use to it then.
TEST_F(DriverCheck, keeps_the_state_of_what_could_not_be_deleted) {
    const auto ended = check({test_driver_but("delete) exit 5 ;;"), "--only", "create"});
    EXPECT_EQ(ended.status, 1) << ended.err;
    ASSERT_EQ(temporary_files().size(), 1U);
    EXPECT_THAT(ended.err, HasSubstr("could not be deleted: driver delete: it ended with exit status 5"));
    EXPECT_THAT(ended.err, HasSubstr("is left: " + temporary_.path() + "/" + temporary_files().front()));
}

class DriverCheckSignal : public DriverCheck, public ::testing::WithParamInterface<int> {};

TEST_P(DriverCheckSignal, deletes_what_it_made) {
    // A command that nothing but the end of its driver ends, in a sandbox whose start-up command goes on.
    const auto driver = test_driver_but("exec) sleep 1000 ;;");
    for (const bool as_json : {false, true}) {
        fs::remove(state() + "/actions");
        auto line = std::vector<std::string>{driver, "--only", "probe,create-start-up,create"};
        if (as_json) line.emplace_back("--json");
        Process program(start_of(line));
        ASSERT_TRUE(test::eventually(30s, [&] { return is_doing("exec"); })) << program.err();
        EXPECT_GT(in_sandboxes(), 0U);
        ASSERT_EQ(temporary_files().size(), 1U);
        // For who has to clean up after a SIGKILL.
        EXPECT_THAT(program.err(), HasSubstr(temporary_.path() + "/" + temporary_files().front()));
        program.signal(GetParam());
        const auto ended = program.wait(30s);
        EXPECT_EQ(ended.status, 128 + GetParam()) << ended.err;
        EXPECT_EQ(in_sandboxes(), 0U);
        EXPECT_EQ(left(), 0U);
        EXPECT_TRUE(is_doing("delete")) << written("actions");
        EXPECT_THAT(temporary_files(), IsEmpty());
        EXPECT_THAT(ended.err, HasSubstr("interrupted"));
        EXPECT_THAT(ended.err, Not(HasSubstr("could not be deleted")));
        if (!as_json) continue;
        const auto report = json::parse(ended.out);
        EXPECT_EQ(report["holds"], nullptr);
        EXPECT_EQ(report["error"], std::string("interrupted by SIG") + ::sigabbrev_np(GetParam()));
        ASSERT_EQ(report["checks"].size(), 1U);
        EXPECT_EQ(report["checks"][0]["name"], "probe");
    }
}

INSTANTIATE_TEST_SUITE_P(Any, DriverCheckSignal, ::testing::Values(SIGTERM, SIGINT, SIGHUP));

TEST_F(DriverCheck, is_interrupted_in_every_action) {
    for (const std::string action : {"probe", "create", "list", "cancel"}) {
        fs::remove(state() + "/actions");
        const auto driver = test_driver_but(action + ") sleep 1000 ;;");
        Process program(start_of({driver, "--only", "create,list,cancel"}));
        ASSERT_TRUE(test::eventually(30s, [&] { return is_doing(action); })) << program.err();
        program.signal(SIGTERM);
        const auto ended = program.wait(9s);  // less than the driver's own limit of any of these
        EXPECT_EQ(ended.status, 128 + SIGTERM) << ended.err;
        EXPECT_EQ(in_sandboxes(), 0U) << action;
        EXPECT_EQ(left(), 0U) << action;
        EXPECT_THAT(temporary_files(), IsEmpty()) << action;
    }
}

// Between two calls of the driver a check may wait long.
TEST_F(DriverCheck, is_interrupted_while_a_check_waits) {
    const auto driver = test_driver_but(R"(exec)
        if [ -e first ]; then echo '{"success": false, "error": "not now"}'; fi
        if [ -e first ]; then touch second; else echo '{"success": true, "result": {"exit_code": 0}}'; touch first; fi ;;)");
    Process program(start_of({driver, "--only", "limit-memory"}));
    ASSERT_TRUE(test::eventually(30s, [&] { return was_written("second"); })) << program.err();
    program.signal(SIGTERM);
    const auto ended = program.wait(9s);
    EXPECT_EQ(ended.status, 128 + SIGTERM) << ended.out << ended.err;
    EXPECT_TRUE(is_doing("delete"));
    EXPECT_THAT(temporary_files(), IsEmpty());
}

TEST_F(DriverCheck, leaves_at_once_at_the_second_signal) {
    const auto driver = test_driver_but("exec|delete) sleep 1000 ;;");
    Process program(start_of({driver, "--only", "create"}));
    ASSERT_TRUE(test::eventually(30s, [&] { return is_doing("exec"); })) << program.err();
    program.signal(SIGTERM);
    ASSERT_TRUE(test::eventually(30s, [&] { return is_doing("delete"); })) << program.err();
    ASSERT_TRUE(program.running());
    std::this_thread::sleep_for(1100ms);  // sooner, it would count as the first
    program.signal(SIGINT);
    const auto ended = program.wait(3s);
    EXPECT_EQ(ended.status, 128 + SIGINT);
    ASSERT_EQ(temporary_files().size(), 1U);
    EXPECT_THAT(ended.err, HasSubstr("is left: " + temporary_.path() + "/" + temporary_files().front()));
    EXPECT_TRUE(test::eventually(10s, [&] { return left() == 0; }));
}

TEST_F(DriverCheck, takes_two_signals_at_once_for_one) {
    Process program(start_of({test_driver_but("exec) sleep 1000 ;;"), "--only", "create"}));
    ASSERT_TRUE(test::eventually(30s, [&] { return is_doing("exec"); })) << program.err();
    program.signal(SIGTERM);
    program.signal(SIGINT);  // of two alike, one might be lost
    const auto ended = program.wait(30s);
    EXPECT_THAT(ended.status, ::testing::AnyOf(128 + SIGTERM, 128 + SIGINT)) << ended.err;
    EXPECT_TRUE(is_doing("delete")) << ended.err;
    EXPECT_EQ(in_sandboxes(), 0U);
    EXPECT_THAT(temporary_files(), IsEmpty());
}

// It signals the process and at once its whole group.
TEST_F(DriverCheck, deletes_what_it_made_when_timeout_ends_it) {
    const auto driver = test_driver_but("exec) sleep 1000 ;;");
    auto start = start_of({driver, "--only", "create-start-up"});
    start.argv.insert(start.argv.begin(), {"timeout", "5"});
    const auto ended = run_program(start, std::chrono::minutes(2));
    EXPECT_EQ(ended.status, 124) << ended.err;
    EXPECT_TRUE(is_doing("delete")) << written("actions") << ended.err;
    EXPECT_EQ(in_sandboxes(), 0U);
    EXPECT_THAT(temporary_files(), IsEmpty());
    EXPECT_THAT(ended.err, Not(HasSubstr("may be left")));
}

// What nohup asked for stands.
TEST_F(DriverCheck, goes_on_at_a_signal_that_is_ignored) {
    const auto driver =
        test_driver_but("create) sleep 2; printf %s \"$request\" | '" + fixture("test-driver") + "' \"$1\" ;;");
    auto start = start_of({driver, "--only", "create"});
    start.argv.insert(start.argv.begin(), {"sh", "-c", "trap '' HUP; exec \"$@\"", "sh"});
    Process program(start);
    ASSERT_TRUE(test::eventually(30s, [&] { return is_doing("create"); })) << program.err();
    program.signal(SIGHUP);
    const auto ended = program.wait(60s);
    EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
}

}  // namespace
}  // namespace sandbox::test
