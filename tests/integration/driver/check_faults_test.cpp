// Faults of a driver that sandbox-driver-check must find: each is what an author may well do.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <nlohmann/json.hpp>

#include "check_fixture.hpp"
#include "checks.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;

class DriverCheckFault : public DriverCheck {
protected:
    /// What the program says of one check.
    [[nodiscard]] json entry_of(const std::string& driver, const std::string& name) const {
        const auto ended = check({driver, "--json", "--only", name});
        const auto report = json::parse(ended.out, nullptr, false);
        if (!report.is_object() || report["checks"].size() != 1) return {{"holds", "?"}, {"detail", ended.err}};
        return report["checks"][0];
    }
    void expect_broken(const std::string& driver, const std::string& name, const std::string& says) const {
        const auto entry = entry_of(driver, name);
        EXPECT_EQ(entry["holds"], false) << entry;
        EXPECT_THAT(entry["detail"].get<std::string>(), HasSubstr(says));
    }
};

// Half the bound is well within a quarter of a processor; the host decides whether that says anything.
TEST(CpuJudgement, needs_a_host_that_could_have_given_more) {
    EXPECT_NO_THROW(driver_check::judge_cpu(0.5, 2, 3));
    EXPECT_THROW(driver_check::judge_cpu(0.5, 2, 0.1), driver_check::NotJudged);
    EXPECT_THROW(driver_check::judge_cpu(1.5, 2, 3), driver_check::Broken);
    EXPECT_THROW(driver_check::judge_cpu(1.5, 2, 0), driver_check::Broken);
    EXPECT_NO_THROW(driver_check::judge_cpu(1.5, 6, 5));  // the loops ran longer
}

// The test driver limits nothing.
TEST_F(DriverCheckFault, no_cpu_limit_holds_because_the_machine_is_busy) {
    std::atomic<bool> enough = false;
    std::vector<std::jthread> others;
    for (int i = 0; i < 8; ++i)
        others.emplace_back([&] {
            while (!enough) continue;
        });
    const auto ended = check({fixture("test-driver"), "--json", "--only", "limit-cpu"});
    enough = true;
    const auto report = json::parse(ended.out);
    EXPECT_NE(report["checks"][0]["holds"], true) << ended.out;
    EXPECT_EQ(report["holds"], report["checks"][0]["holds"]);
    if (report["holds"] == false) {
        EXPECT_EQ(ended.status, 1);
    } else {
        EXPECT_EQ(ended.status, 2);
        EXPECT_EQ(report["error"], "could not be judged: limit-cpu");
        EXPECT_THAT(report["checks"][0]["detail"].get<std::string>(), HasSubstr("the machine is busy"));
    }
}

// It says success, kills nothing, and its exec ends when the worker stops that.
TEST_F(DriverCheckFault, a_cancel_that_does_nothing) {
    const auto driver = test_driver_but(R"(cancel) echo '{"success": true, "result": {}, "error": null}' ;;)");
    expect_broken(driver, "cancel", "cancel was answered with success and the exec went on");
}

TEST_F(DriverCheckFault, a_create_of_a_tier_that_it_does_not_give) {
    const auto driver = test_driver_but(R"sh(create)
        printf %s "$request" | sed 's/"microvm"/"container"/' | )sh" +
                                        ("'" + fixture("test-driver") + "' create ;;"));
    expect_broken(driver, "create-other-tier", "a create with isolation microvm went well");
    EXPECT_EQ(entry_of(fixture("test-driver"), "create-other-tier")["detail"], "microvm is refused");
}

TEST_F(DriverCheckFault, an_unknown_action_without_an_answer) {
    expect_broken(test_driver_but("no-such-action) exit 2 ;;"), "unknown-action", "it ended with exit status 2");
    expect_broken(test_driver_but("no-such-action) exit 0 ;;"), "unknown-action", "its answer is no object");
    expect_broken(test_driver_but(R"(no-such-action) echo '{"success": true, "result": {}}' ;;)"), "unknown-action",
                  "answered with success true");
    EXPECT_EQ(entry_of(fixture("test-driver"), "unknown-action")["holds"], true);
}

TEST_F(DriverCheckFault, a_list_of_what_never_was) {
    const auto driver = test_driver_but(
        R"sh(list)
        printf %s "$request" | ')sh" +
        fixture("test-driver") + R"sh(' list | sed 's/\[/["019f2f64-5c1e-7aa3-8f0e-3d1c6f1d2a11", /; s/, \]/]/' ;;)sh");
    expect_broken(driver, "list", "it lists 019f2f64-5c1e-7aa3-8f0e-3d1c6f1d2a11, which was never made");
}

// Each is the test driver with one line changed.
class DriverCheckEdit : public DriverCheckFault {
protected:
    [[nodiscard]] std::string test_driver_with(const std::string& line, const std::string& other) {
        std::ifstream file(fixture("test-driver"));
        std::string text(std::istreambuf_iterator<char>(file), {});
        const auto at = text.find(line);
        EXPECT_NE(at, std::string::npos) << line;
        if (at != std::string::npos) text.replace(at, line.size(), other);
        const auto path = state() + "/edited-driver";
        std::ofstream(path, std::ios::trunc) << text;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path;
    }
};

TEST_F(DriverCheckEdit, output_that_is_not_cut) {
    const auto driver = test_driver_with("self.total, self.limit = b\"\", b\"\", 0, limit // 2",
                                         "self.total, self.limit = b\"\", b\"\", 0, limit + 2000000");
    expect_broken(driver, "exec-output",
                  "1 MiB of output with max_output_bytes 4096: driver exec: it printed more than");
}

TEST_F(DriverCheckEdit, no_sandbox_id_and_other_variables) {
    expect_broken(test_driver_with("env[\"SANDBOX_ID\"] = sandbox", "pass"), "exec-env",
                  "SANDBOX_ID is not in a command's environment");
    expect_broken(test_driver_with("env.update(command.get(\"env\") or {})", "pass"), "exec-env",
                  "the output should be \"one two|a=$(id)* |command|");
}

TEST_F(DriverCheckEdit, only_the_main_process_ends_at_the_time_limit) {
    const auto driver = test_driver_with("kill_all(descendants)\n            process.wait()",
                                         "process.kill()\n            process.wait()");
    expect_broken(driver, "exec-time-limit", "processes that the command had started live on after its time limit");
}

TEST_F(DriverCheckEdit, an_input_that_never_ends) {
    const auto driver = test_driver_with("stream.close()\n    except", "stream.flush(); time.sleep(1000)\n    except");
    expect_broken(driver, "exec-stdin",
                  "without input: the command was not told the end of its standard input in 20 s");
}

}  // namespace
}  // namespace sandbox::test
