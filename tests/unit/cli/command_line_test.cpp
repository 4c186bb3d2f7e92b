#include <command_line.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

// Global options mean the same before and after the command.
TEST(CommandLine, takes_global_options_on_either_side) {
    for (const auto& words : std::vector<Words>{{"--server", "http://a", "--json", "list"},
                                                {"list", "--json", "--server", "http://a"},
                                                {"--json", "node", "--server=http://a", "list"}}) {
        CommandLine line;
        const auto parsed = line.parse(words);

        EXPECT_THAT(parsed.problem, IsEmpty());
        EXPECT_TRUE(parsed.action);
        EXPECT_EQ(line.globals().server, "http://a");
        EXPECT_TRUE(line.globals().json);
    }
}

// What follows the ID belongs to the command in the sandbox, --help and --json too.
TEST(CommandLine, leaves_the_commands_own_words_alone) {
    CommandLine line;
    const Words words{"exec", "abcdef12", "ls", "--help", "--json", "[a,b]"};

    const auto parsed = line.parse(words);

    EXPECT_THAT(parsed.problem, IsEmpty());
    EXPECT_THAT(parsed.text, IsEmpty());
    EXPECT_FALSE(line.globals().json);
    EXPECT_THAT(*line.argv(), ElementsAre("ls", "--help", "--json", "[a,b]"));
}

// CLI11 would make two variables of "[a,b]" behind a repeatable option.
TEST(CommandLine, takes_option_values_as_they_are) {
    CommandLine line;
    const Words words{"exec", "abcdef12", "--env", "A=[a,b]", "--env", "B=-x", "--", "true"};

    EXPECT_THAT(line.parse(words).problem, IsEmpty());
}

TEST(CommandLine, names_what_was_probably_meant) {
    const std::vector<std::pair<Words, std::string>> slips{
        {{"lst"}, "did you mean list?"},
        {{"exec", "--timeot", "3", "abcdef12", "ls"}, "did you mean --timeout?"},
        {{"node", "drian", "abcdef12"}, "did you mean drain?"}};
    for (const auto& [words, meant] : slips) {
        CommandLine line;
        EXPECT_THAT(line.parse(words).problem, HasSubstr(meant));
    }
}

TEST(CommandLine, says_what_is_missing_or_too_much) {
    const std::vector<std::pair<Words, std::string>> wrong{
        {{}, "a command is missing"},
        {{"node"}, "a command is missing (`sandbox node --help` lists them)"},
        {{"exec"}, "ID"},
        {{"exec", "abcdef12"}, "needs a command after the ID"},
        {{"exec", "abcdef12", "--"}, "needs a command after the ID"},
        {{"create"}, "--image"},
        {{"create", "--image", "a", "true"}, "true"},
        {{"create", "--image", "a", "--network", "lan"}, "--network"},
        {{"create", "--image", "a", "--label", "x"}, "KEY=VALUE"},
        {{"create", "--image", "a", "--cpu-millis", "1e3"}, "--cpu-millis"},
        {{"extend", "abcdef12"}, "--ttl"},
        {{"delete", "abcdef12", "--wait", "--no-wait"}, "--wait"},
        {{"agent", "run", "nobody"}, "there is no agent nobody"},
        {{"agent", "run", "commandcode"}, "has no default image"},
        {{"agent", "run", "claude", "--no-wait", "--", "-p", "x"}, "--no-wait"},
        {{"completion", "tcsh"}, "tcsh"}};
    for (const auto& [words, part] : wrong) {
        CommandLine line;
        const auto parsed = line.parse(words);
        EXPECT_THAT(parsed.problem, HasSubstr(part));
        EXPECT_FALSE(parsed.action);
    }
}

// A value may be a secret, so no message shows one.
TEST(CommandLine, shows_no_value_of_a_refused_variable) {
    CommandLine line;
    const Words words{"exec", "abcdef12", "--env", "s3cr3t-value", "--", "true"};

    EXPECT_THAT(line.parse(words).problem, Not(HasSubstr("s3cr3t")));
}

// The API's JSON can't hold every byte: refused here, not changed on the way.
TEST(CommandLine, refuses_words_that_the_api_cannot_carry) {
    CommandLine line;
    const Words words{"exec", "abcdef12", "--", "printf", "\xff\xfe"};

    EXPECT_THAT(line.parse(words).problem, HasSubstr("word 2 of the command is not UTF-8"));
}

TEST(CommandLine, has_help_with_examples_for_every_command_that_does_something) {
    for (const auto& words : std::vector<Words>{{"doctor"},
                                                {"create"},
                                                {"list"},
                                                {"inspect"},
                                                {"exec"},
                                                {"extend"},
                                                {"delete"},
                                                {"wait"},
                                                {"cancel"},
                                                {"operations"},
                                                {"node", "list"},
                                                {"node", "drain"},
                                                {"node", "undrain"},
                                                {"agent", "list"},
                                                {"agent", "run"},
                                                {"config", "set-server"},
                                                {"config", "show"},
                                                {"completion"}}) {
        CommandLine line;
        auto asked = words;
        asked.emplace_back("--help");
        const auto parsed = line.parse(asked);
        EXPECT_THAT(parsed.text, HasSubstr("Examples:\n")) << words.front();
        EXPECT_THAT(parsed.text, HasSubstr("--server URL")) << words.front();
        EXPECT_THAT(parsed.text, HasSubstr("Usage: sandbox " + words.front())) << words.front();
    }
}

}  // namespace
}  // namespace sandbox::cli
