// Faults of a driver that sandbox-driver-check must find: each is what an author may well do.
#include <atomic>
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

}  // namespace
}  // namespace sandbox::test
