#pragma once

#include <memory>
#include <string>
#include <support/process.hpp>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sandbox::test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

inline constexpr auto kImage = "sandbox-base-busybox:local";
inline constexpr auto kNobody = "00000000-0000-7000-8000-000000000000";
/// An id on a line of its own.
inline constexpr auto kIdLine = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\n";

/// How `sandbox WORDS...` is started against `url`, with a home of its own.
inline Start command(const std::string& url, const TemporaryDirectory& home, Words words, std::string input = "") {
    words.insert(words.begin(), program("sandbox"));
    return {.argv = std::move(words),
            .environment = {{"SANDBOX_URL", url}, {"HOME", home.path()}},
            .input = std::move(input)};
}

/// One daemon for all tests of this program; what they make in it is theirs to delete. Each test has a tenant of its
/// own, so that lists hold what it made.
class CliTest : public ::testing::Test {
protected:
    static Daemon& daemon() {
        static Daemon one;
        return one;
    }

    ~CliTest() override {
        Words words{"delete"};
        words.insert(words.end(), made_.begin(), made_.end());
        if (!made_.empty()) static_cast<void>(run(std::move(words)));
    }

    [[nodiscard]] Start start_of(Words words, std::string input = "") const {
        auto start = command(daemon().url(), home_, std::move(words), std::move(input));
        start.environment["SANDBOX_TENANT"] = tenant();
        return start;
    }
    [[nodiscard]] Ended run(Words words, std::string input = "") const {
        return run_program(start_of(std::move(words), std::move(input)), 2min);
    }
    /// The document on standard output of a run with --json.
    [[nodiscard]] nlohmann::json json(Words words, int status = 0) const {
        words.insert(words.begin(), "--json");
        const auto ended = run(std::move(words));
        EXPECT_EQ(ended.status, status) << ended.out << ended.err;
        return nlohmann::json::parse(ended.out, nullptr, false);
    }
    /// The error document on standard error of a run with --json, and nothing on standard output.
    [[nodiscard]] nlohmann::json json_error(Words words, int status = 1) const {
        words.insert(words.begin(), "--json");
        const auto ended = run(std::move(words));
        EXPECT_EQ(ended.status, status) << ended.out << ended.err;
        EXPECT_EQ(ended.out, "");
        return nlohmann::json::parse(ended.err, nullptr, false).value("error", nlohmann::json());
    }

    /// A running sandbox, small and deleted with the test.
    std::string sandbox(Words more = {}) {
        Words words{"create", "--image", kImage, "--memory-mib", "128", "--disk-mib", "64", "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        auto ended = run(words);
        if (ended.status != 0) throw std::runtime_error("create failed: " + ended.err);
        ended.out.pop_back();
        made_.push_back(ended.out);
        return ended.out;
    }
    /// Deletes it with the test.
    void owns(const nlohmann::json& id) { made_.push_back(id.get<std::string>()); }

    static std::string tenant() { return ::testing::UnitTest::GetInstance()->current_test_info()->name(); }

    TemporaryDirectory home_;

private:
    std::vector<std::string> made_;
};

}  // namespace sandbox::test
