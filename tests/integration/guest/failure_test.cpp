// Commands that never run: each says which program and why, with the exit code that a shell would give.
#include <gtest/gtest.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

using namespace std::chrono_literals;

class CannotRun : public testing::Test {
protected:
    // "126 the sentence".
    std::string outcome(std::vector<std::string> argv, Start options = {}) {
        const auto run = host.run(std::move(argv), std::move(options));
        if (!run.failed) return "it ran";
        EXPECT_FALSE(run.exited);
        EXPECT_EQ(run.output + run.error, "");
        return std::to_string(run.code()) + ' ' + run.failed->what;
    }

    Sandbox sandbox;
    Host host{sandbox};
};

TEST_F(CannotRun, not_found) {
    EXPECT_EQ(outcome({"nonesuch"}), "127 program \"nonesuch\" was not found in PATH");
    EXPECT_EQ(outcome({"./nonesuch"}), "127 program \"./nonesuch\" was not found");
    EXPECT_EQ(outcome({"/etc/passwd/x"}), "127 program \"/etc/passwd/x\" was not found");
    EXPECT_EQ(outcome({""}), "127 program \"\" was not found in PATH");
    EXPECT_EQ(outcome({"true"}, {.env = {"PATH=/nowhere"}}), "127 program \"true\" was not found in PATH");
    EXPECT_EQ(outcome({std::string(5000, 'x')}),
              "127 program \"" + std::string(100, 'x') + "…\" was not found in PATH");
}

TEST_F(CannotRun, found_but_not_to_be_run) {
    host.shell(
        "cd /workspace; touch plain; printf garbage > garbage; printf '#!/no/such\\n' > script; chmod +x garbage "
        "script");

    EXPECT_EQ(outcome({"./plain"}), "126 program \"./plain\" can't be run: permission denied");
    EXPECT_EQ(outcome({"plain"}, {.env = {"PATH=/workspace"}}),
              "126 program \"plain\" can't be run: permission denied");
    EXPECT_EQ(outcome({"/usr"}), "126 program \"/usr\" can't be run: it is a directory");
    EXPECT_EQ(outcome({"./garbage"}),
              "126 program \"./garbage\" can't be run: it is no program for this machine (exec format error)");
    EXPECT_EQ(outcome({"./script"}), "126 program \"./script\" can't be run: its interpreter or loader is missing");
}

TEST_F(CannotRun, arguments_that_the_kernel_refuses) {
    const std::string too_long(131'072, 'x');
    const std::vector<std::string> in_sum(30, std::string(131'071, 'x'));
    std::vector<std::string> argv{"true"};
    argv.insert(argv.end(), in_sum.begin(), in_sum.end());

    EXPECT_EQ(outcome({"true", too_long}), "126 program \"true\" can't be run: argument list too long");
    EXPECT_EQ(outcome(argv), "126 program \"true\" can't be run: argument list too long");
    EXPECT_EQ(host.run({"true"}).code(), 0);
}

TEST_F(CannotRun, directories) {
    host.shell("mkdir /workspace/closed; chmod 0 /workspace/closed");

    EXPECT_EQ(outcome({"true"}, {.cwd = "/nope"}), "126 working directory \"/nope\" does not exist");
    EXPECT_EQ(outcome({"true"}, {.cwd = "/etc/passwd"}),
              "126 working directory \"/etc/passwd\" can't be entered: Not a directory");
    EXPECT_EQ(outcome({"true"}, {.cwd = "/workspace/closed"}),
              "126 working directory \"/workspace/closed\" can't be entered: Permission denied");
}

// Nothing stays of any of them.
TEST_F(CannotRun, leaves_nothing) {
    ASSERT_TRUE(host.settle());
    const auto files = sandbox.open_files();
    for (int i = 0; i < 100; ++i) outcome({"nonesuch"});

    EXPECT_TRUE(host.wait([&] { return sandbox.process_count() == 0; }));
    EXPECT_TRUE(host.wait([&] { return sandbox.open_files() == files; })) << sandbox.open_files();
}

}  // namespace
}  // namespace sandbox::guest::test
