// What every runtime promises a worker, the same checks against each: Docker, and drivers. They are what
// sandbox-driver-check runs for a driver's author; docs/runtime-driver.md and docs/runtimes.md say them in words.
#include <algorithm>
#include <csignal>
#include <map>

#include <gtest/gtest.h>

#include "checks.hpp"
#include "stands.hpp"
#include "support/run_task.hpp"

namespace sandbox::test {
namespace {

using driver_check::Check;
using driver_check::Verdict;

struct Promise {
    std::string runtime;
    Check check;
};
[[maybe_unused]] void PrintTo(const Promise& promise, std::ostream* out) {
    *out << promise.runtime << ": " << promise.check.promise;
}

class RuntimeContract : public ::testing::TestWithParam<Promise> {
protected:
    static void SetUpTestSuite() { (void)std::signal(SIGPIPE, SIG_IGN); }
    static void TearDownTestSuite() { stands_.clear(); }
    static Stand& stand(const std::string& name) {
        auto& stand = stands_[name];
        if (!stand) stand = make_stand(name);
        return *stand;
    }

private:
    static std::map<std::string, std::unique_ptr<Stand>> stands_;
};
std::map<std::string, std::unique_ptr<Stand>> RuntimeContract::stands_;

TEST_P(RuntimeContract, holds) {
    auto& on = stand(GetParam().runtime);
    const auto verdict = run(on.io, look_at(*on.kit, GetParam().check));
    // Each of these offers everything but what its kind can't have (no driver to kill, say).
    EXPECT_NE(verdict.held, Verdict::Held::no) << verdict.detail;
}

std::vector<Promise> promises(const std::string& runtime, bool isolates) {
    std::vector<Promise> promises;
    for (const auto& group : {driver_check::life_checks(), driver_check::exec_checks(), driver_check::crash_checks()})
        for (const auto& check : group) promises.push_back({runtime, check});
    if (isolates)
        for (const auto& check : driver_check::limit_checks()) promises.push_back({runtime, check});
    return promises;
}

std::string name_of(const ::testing::TestParamInfo<Promise>& test) {
    auto name = std::string(test.param.check.name);
    std::ranges::replace(name, '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Docker, RuntimeContract, ::testing::ValuesIn(promises("docker", true)), name_of);
INSTANTIATE_TEST_SUITE_P(Runc, RuntimeContract, ::testing::ValuesIn(promises("runc", true)), name_of);
INSTANTIATE_TEST_SUITE_P(TestDriver, RuntimeContract, ::testing::ValuesIn(promises("test_driver", false)), name_of);

}  // namespace
}  // namespace sandbox::test
