// Whatever a driver does wrong is one failed operation with a sentence that says which fault it was, within its limit,
// and nothing of the driver is left running.
#include <chrono>
#include <fstream>

#include "driver_fixture.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Fault {
    std::string driver;  // of tests/fixtures/drivers/faults
    Code code;
    std::string says;                            // all of it, with the driver's path as {}
    std::chrono::milliseconds limit = 60'000ms;  // short for those that run past it
};

class DriverFault : public DriverTest, public ::testing::WithParamInterface<Fault> {};

TEST_P(DriverFault, is_a_sentence_of_its_own_and_leaves_nothing) {
    const auto& fault = GetParam();
    const auto driver = fixture("faults/" + fault.driver);
    settings_.limits.probe = fault.limit;
    settings_.limits.kill_grace = 300ms;
    const auto begun = std::chrono::steady_clock::now();
    auto probed = wait(use(driver).probe(in(60s)));
    ASSERT_FALSE(probed);
    auto says = fault.says;
    if (const auto at = says.find("{}"); at != std::string::npos) says.replace(at, 2, driver);
    EXPECT_EQ(probed.error().message(), says);
    EXPECT_EQ(probed.error().code(), fault.code);
    // Far above what any takes, far below what a hang would.
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
    EXPECT_TRUE(test::eventually(10s, [&] { return left() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(
    All, DriverFault,
    ::testing::Values(
        Fault{"hangs-before-reading", Code::deadline_exceeded,
              "driver probe: it did not end within 700 ms and was killed", 700ms},
        Fault{"hangs-after-answering", Code::deadline_exceeded,
              "driver probe: it did not end within 2 s and was killed", 2s},
        Fault{"ignores-sigterm", Code::deadline_exceeded, "driver probe: it did not end within 700 ms and was killed",
              700ms},
        Fault{"closes-output-early", Code::unavailable, "driver probe: it printed no answer"},
        Fault{"prints-a-gibibyte", Code::unavailable,
              "driver probe: it printed more than 1048576 bytes and was killed"},
        Fault{"prints-half-an-answer", Code::unavailable,
              "driver probe: its answer can't be used: not valid JSON at line 1, column 36: while parsing value - "
              "unexpected end of input; expected '[', '{', or a literal"},
        Fault{"prints-two-answers", Code::unavailable,
              "driver probe: its answer can't be used: not valid JSON at line 2, column 1: while parsing value - "
              "unexpected '{'; expected end of input"},
        Fault{"fails-silently", Code::unavailable,
              "driver probe: it ended with exit status 3; the end of its standard error: the first of many words | no "
              "room left"},
        Fault{"fails-with-an-answer", Code::unavailable, "driver probe: it ended with exit status 4: the disk is full"},
        Fault{"leaves-a-session", Code::unavailable, "driver probe: it ended with exit status 5"},
        Fault{"is-killed", Code::unavailable, "driver probe: it was ended by signal 11"},
        Fault{
            "speaks-another-protocol", Code::unavailable,
            "driver probe: its answer can't be used: it names protocol \"sandbox.runtime.v9\", and this worker speaks "
            "sandbox.runtime.v1"},
        Fault{"is-missing", Code::unavailable, "the driver {} is not there (No such file or directory)"},
        Fault{"is-not-executable", Code::unavailable, "the driver {} is not an executable file"}),
    [](const auto& test) {
        auto name = test.param.driver;
        std::ranges::replace(name, '-', '_');
        return name;
    });

// A driver that leaves a child with its output is not waited for: its answer counts, and the child goes.
TEST_F(DriverTest, does_not_wait_for_a_child_that_holds_the_output) {
    auto probed = wait(use(fixture("faults/leaves-a-child")).probe(in(60s)));
    ASSERT_TRUE(probed) << probed.error().message();
    EXPECT_EQ(probed->info.name, "leaves a child");
    EXPECT_TRUE(test::eventually(10s, [&] { return left() == 0; }));
}

TEST_F(DriverTest, shows_bytes_of_a_log_as_text) {
    auto probed = wait(use(fixture("faults/writes-bytes-to-its-log")).probe(in(60s)));
    ASSERT_FALSE(probed);
    const auto& message = probed.error().message();
    EXPECT_THAT(message, HasSubstr("it ended with exit status 1; the end of its standard error: …"));
    EXPECT_TRUE(message.ends_with(" | last  words\xEF\xBF\xBD")) << message;
    EXPECT_LT(message.size(), 700U);
}

// What docs/runtime-driver.md says, also for who asks with more time than a heartbeat has.
TEST_F(DriverTest, gives_a_list_five_seconds) {
    auto listed = wait(use(script("exec sleep 1000")).list(in(60s)));
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().message(), "driver list: it did not end within 5 s and was killed");
}

// The values of a command's environment are nowhere to be seen, also when the driver itself prints them.
TEST_F(DriverTest, hides_secrets_that_the_driver_gives_away) {
    auto& runtime = use(fixture("faults/tells-what-it-was-told"));
    auto secret = command({"true"});
    secret.env = {{"TOKEN", "s3cr3t-value-1"}, {"KEY", "first-line\nsecond-line"}};
    ::testing::internal::CaptureStderr();
    auto result = wait(runtime.exec(new_id(), new_operation(), secret, 1000));
    const auto log = ::testing::internal::GetCapturedStderr();
    ASSERT_FALSE(result);
    for (const char* hidden : {"s3cr3t-value-1", "first-line", "second-line"}) {
        EXPECT_THAT(result.error().message(), Not(HasSubstr(hidden)));
        EXPECT_THAT(log, Not(HasSubstr(hidden)));
    }
    EXPECT_THAT(result.error().message(), HasSubstr("could not do"));
}

// The node offers nothing while the driver says something else than at the start, and says so.
TEST_F(DriverTest, takes_no_work_while_the_drivers_tier_has_changed) {
    settings_.probe_again = 0ms;
    auto& runtime = use(fixture("faults/changes-its-tier"));
    auto first = wait(runtime.probe(in(60s)));
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_THAT(first->tiers, ElementsAre(domain::Tier::container));
    EXPECT_TRUE(wait(runtime.create(new_id(), any_spec(), domain::Tier::container, {})));

    int changes = 0;
    runtime.on_capabilities_change = [&] { ++changes; };
    ASSERT_TRUE(wait(runtime.status(in(10s))));
    ASSERT_TRUE(eventually(20s, [&] { return changes == 1; }));
    auto second = wait(runtime.probe(in(60s)));
    ASSERT_TRUE(second);
    EXPECT_TRUE(second->tiers.empty());
    for (const auto tier : {domain::Tier::container, domain::Tier::microvm}) {
        auto created = wait(runtime.create(new_id(), any_spec(), tier, {}));
        ASSERT_FALSE(created);
        EXPECT_EQ(
            created.error().message(),
            "the driver gave container when this worker started and says microvm now; no sandbox is created until "
            "it says the former again or the worker is restarted");
    }
    EXPECT_TRUE(wait(runtime.destroy(new_id())));  // what is there can go

    std::ofstream(state() + "/calm") << "";
    ASSERT_TRUE(wait(runtime.status(in(10s))));
    ASSERT_TRUE(eventually(20s, [&] { return changes == 2; }));
    EXPECT_THAT(wait(runtime.probe(in(60s)))->tiers, ElementsAre(domain::Tier::container));
}

TEST_F(DriverTest, promises_no_tier_that_the_driver_does_not_give) {
    settings_.tiers = std::vector{domain::Tier::microvm};
    const auto driver = fixture("test-driver");
    auto probed = wait(use(driver).probe(in(60s)));
    ASSERT_FALSE(probed);
    EXPECT_EQ(probed.error().message(),
              "node.isolation_tiers promises microvm, and the driver " + driver + " says that it gives container only");
}

}  // namespace
}  // namespace sandbox::test
