#include <support/process.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

Ended build(std::vector<std::string> words) {
    words.insert(words.begin(), std::string(SANDBOX_SOURCE_DIR) + "/scripts/build-agent-image.sh");
    return run_program({.argv = std::move(words)});
}

// The building itself takes minutes and the network: images.sh does it.
TEST(BuildAgentImage, refuses_what_it_can_not_build) {
    EXPECT_EQ(build({}).status, 2);
    EXPECT_EQ(build({"claude", "codex"}).status, 2);
    EXPECT_EQ(build({"--frob", "claude"}).status, 2);
    const auto aider = build({"aider"});
    EXPECT_EQ(aider.status, 2);
    EXPECT_THAT(aider.err, HasSubstr("there are codex, claude, opencode and pi"));
    EXPECT_EQ(build({"--help"}).status, 0);
}

// A version that is not exact would be another one tomorrow.
TEST(BuildAgentImage, installs_exact_versions_only) {
    const auto ended = run_program({.argv = {"sh", "-c", R"(. "$0"; for name in NODE CODEX CLAUDE OPENCODE PI; do
            eval "echo \"\${${name}_PACKAGE-node} \${${name}_VERSION}\""; done)",
                                             std::string(SANDBOX_SOURCE_DIR) + "/images/agents/versions.env"}});
    EXPECT_THAT(ended.out, MatchesRegex("(@?[a-z/-]+ [0-9]+\\.[0-9]+\\.[0-9]+\n){5}"));
}

}  // namespace
}  // namespace sandbox::test
