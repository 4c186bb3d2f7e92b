#include "external/driver_messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sandbox::runtime::external {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

DriverOrder an_order() {
    return {.action = "create",
            .request = {},
            .answer_limit = 100,
            .limit = std::chrono::seconds(120),
            .mask = {},
            .log = {}};
}

std::string failure(DriverRun run) {
    const auto result = result_of(std::move(run), an_order());
    return result ? "no failure" : result.error().message();
}

// Each way to fail has a sentence of its own, with the end of what the driver wrote on its standard error.
TEST(DriverMessages, say_how_a_run_failed) {
    using End = DriverRun::End;
    EXPECT_EQ(failure({.end = End::past_limit}), "driver create: it did not end within 120 s and was killed");
    EXPECT_EQ(failure({.end = End::wrote_too_much}), "driver create: it printed more than 100 bytes and was killed");
    EXPECT_EQ(failure({.end = End::killed, .status = 9}), "driver create: it was ended by signal 9");
    EXPECT_EQ(failure({.end = End::stopped}), "driver create: it was stopped");
    EXPECT_EQ(failure({.answer = " \n"}), "driver create: it printed no answer");
    EXPECT_EQ(failure({.status = 2, .words = "no room"}),
              "driver create: it ended with exit status 2; the end of its standard error: no room");
    EXPECT_EQ(failure({.status = 2, .answer = R"({"success": false, "error": "full"})", .words = "no room"}),
              "driver create: it ended with exit status 2: full; the end of its standard error: no room");
    // The driver's own sentence needs no more.
    EXPECT_EQ(failure({.answer = R"({"success": false, "error": "full"})", .words = "no room"}), "driver create: full");
}

TEST(DriverMessages, take_null_and_nothing_for_an_empty_result) {
    for (const char* answer :
         {R"({"success": true})", R"({"success": true, "result": null})",
          R"({"success": true, "result": {}, "error": null, "protocol_version": "sandbox.runtime.v1"})"}) {
        const auto result = result_of({.answer = answer}, an_order());
        ASSERT_TRUE(result) << answer;
        EXPECT_EQ(*result, json::object());
    }
}

TEST(DriverMessages, read_a_probe_once_and_in_order) {
    const auto probe =
        read_probe(json{{"name", "d"}, {"version", "1"}, {"tiers", {"microvm", "container", "microvm"}}});
    ASSERT_TRUE(probe) << probe.error().message();
    EXPECT_THAT(probe->tiers, ElementsAre(domain::Tier::container, domain::Tier::microvm));
    EXPECT_FALSE(probe->concurrent_exec);
    EXPECT_FALSE(read_probe(json{{"name", "d"}, {"version", "1"}, {"tiers", json::array()}}));
    EXPECT_FALSE(read_probe(json{{"name", "d"}, {"version", "1"}, {"tiers", {"vm"}}}));
    EXPECT_FALSE(read_probe(json{{"version", "1"}, {"tiers", {"container"}}}));
}

TEST(DriverMessages, hold_ids_to_their_form) {
    const std::string id = "019f2f64-5c1e-7aa3-8f0e-3d1c6f1d2a11";
    EXPECT_EQ(read_list(json{{"sandboxes", {id, id}}})->size(), 1U);
    const auto wrong = read_list(json{{"sandboxes", {"../" + id}}});
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message(), HasSubstr("result.sandboxes[0]"));
    EXPECT_FALSE(read_list(json::object()));
}

TEST(DriverMessages, a_time_limit_is_124_whatever_the_driver_says) {
    domain::Command command;
    command.timeout_seconds = 7;
    const auto result =
        read_exec(json{{"exit_code", 137}, {"timed_out", true}}, command, 100, std::chrono::milliseconds(9));
    ASSERT_TRUE(result);
    EXPECT_EQ(result->output.exit_code, 124);
    EXPECT_EQ(result->error, "the time limit of 7 s was reached");
    EXPECT_EQ(result->output.duration_ms, 9);
}

TEST(DriverLog, masks_values_and_their_lines_and_leaves_short_ones) {
    const Mask mask({"secret-value", "first\nsecond", "abc", "secret"});
    EXPECT_EQ(mask.apply("secret-value secret first second abc"), "*** *** *** *** abc");
    EXPECT_EQ(mask.apply("first\nsecond"), "***");
    EXPECT_EQ(Mask({"****"}).apply("a **** b"), "a *** b");
}

TEST(DriverLog, hands_on_bounded_lines_and_keeps_the_end) {
    std::vector<std::string> lines;
    DriverLog log({}, [&](std::string_view line) { lines.emplace_back(line); });
    log.append("one\n\ntw");
    log.append("o\n" + std::string(10'000, 'x') + "\nlast");
    log.finish();
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0], "one");
    EXPECT_EQ(lines[1], "two");
    EXPECT_EQ(lines[2], std::string(4096, 'x') + "…");
    EXPECT_EQ(lines[3], "last");
    EXPECT_TRUE(log.tail().ends_with("x… | last"));
    EXPECT_LE(log.tail().size(), 500U);
}

}  // namespace
}  // namespace sandbox::runtime::external
