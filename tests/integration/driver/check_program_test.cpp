// sandbox-driver-check as a driver's author runs it.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "driver_fixture.hpp"

namespace sandbox::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class DriverCheck : public DriverTest {
protected:
    static Ended check(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), program("sandbox-driver-check"));
        return run_program({.argv = std::move(arguments)}, std::chrono::minutes(2));
    }
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

}  // namespace
}  // namespace sandbox::test
