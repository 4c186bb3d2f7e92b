#include <arguments.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

/// A program with one command of each kind.
Grammar grammar() {
    Grammar exec{.name = "sandbox exec",
                 .takes_value = {{"--timeout", true}, {"--env", true}, {"--stdin", false}, {"--json", false}},
                 .commands = {},
                 .argv_start = ArgvStart::after_first_word};
    Grammar create{.name = "sandbox create",
                   .takes_value = {{"--image", true}},
                   .commands = {},
                   .argv_start = ArgvStart::after_dashes};
    Grammar drain{.name = "sandbox node drain", .takes_value = {}, .commands = {}, .argv_start = ArgvStart::never};
    Grammar node{
        .name = "sandbox node", .takes_value = {}, .commands = {{"drain", drain}}, .argv_start = ArgvStart::never};
    return {.name = "sandbox",
            .takes_value = {{"--server", true}, {"--json", false}},
            .commands = {{"exec", exec}, {"create", create}, {"node", node}},
            .argv_start = ArgvStart::never};
}

CutArguments cut(const Words& words) {
    return cut_arguments(grammar(), words);
}

// Everything from the first word after the ID on is the command's own, hyphens and known options included.
TEST(Arguments, begin_at_the_first_word_after_the_id) {
    const auto [words, argv] = cut({"exec", "X", "ls", "--json", "-l", "--", "--timeout"});

    EXPECT_THAT(words, ElementsAre("exec", "X"));
    EXPECT_THAT(*argv, ElementsAre("ls", "--json", "-l", "--", "--timeout"));
}

// Options stand before or after the ID, with their values as a word of their own or behind "=".
TEST(Arguments, leave_options_on_either_side_of_the_id_to_the_parser) {
    const auto [words, argv] = cut(
        {"--server", "exec", "exec", "--timeout", "2", "X", "--env=A=b", "--env", "B=c", "--stdin", "sh", "-c", "x"});

    EXPECT_THAT(words,
                ElementsAre("--server", "exec", "exec", "--timeout", "2", "X", "--env=A=b", "--env", "B=c", "--stdin"));
    EXPECT_THAT(*argv, ElementsAre("sh", "-c", "x"));
}

// "--" ends the options; only the first one is ours.
TEST(Arguments, begin_at_the_first_double_hyphen) {
    const auto [words, argv] = cut({"exec", "X", "--timeout", "2", "--", "--", "-x"});

    EXPECT_THAT(words, ElementsAre("exec", "X", "--timeout", "2"));
    EXPECT_THAT(*argv, ElementsAre("--", "-x"));
}

// What shells and option parsers like to change passes as it is.
TEST(Arguments, pass_byte_for_byte) {
    const Words odd{"printf", "", "[a,b]", "a,b", "{c}", "-", "--x=[1,2]", "two\nlines", "$(id)", "*", "\xff"};
    Words line{"exec", "X", "--"};
    line.insert(line.end(), odd.begin(), odd.end());

    EXPECT_EQ(*cut(line).argv, odd);
}

// A lone hyphen is a word, not an option.
TEST(Arguments, take_a_lone_hyphen_for_a_word) {
    EXPECT_THAT(*cut({"exec", "X", "-", "a"}).argv, ElementsAre("-", "a"));
}

TEST(Arguments, may_be_empty_or_absent) {
    EXPECT_THAT(*cut({"exec", "X", "--"}).argv, IsEmpty());
    EXPECT_EQ(cut({"exec", "X"}).argv, std::nullopt);
}

// An ID that is missing is not taken from the command's words.
TEST(Arguments, do_not_give_their_words_away_to_a_missing_id) {
    const auto [words, argv] = cut({"exec", "--", "ls"});

    EXPECT_THAT(words, ElementsAre("exec"));
    EXPECT_THAT(*argv, ElementsAre("ls"));
}

// create has no ID: a stray word is no command, so that a forgotten "--image" is noticed.
TEST(Arguments, of_create_begin_at_double_hyphens_only) {
    EXPECT_EQ(cut({"create", "busybox"}).argv, std::nullopt);
    EXPECT_THAT(*cut({"create", "--image", "busybox", "--", "sleep", "9"}).argv, ElementsAre("sleep", "9"));
}

TEST(Arguments, of_other_commands_never_begin) {
    const auto [words, argv] = cut({"node", "drain", "X", "y", "--json"});

    EXPECT_THAT(words, ElementsAre("node", "drain", "X", "y", "--json"));
    EXPECT_EQ(argv, std::nullopt);
}

// For completion: where a line that is not whole yet has got to.
TEST(Walk, tells_where_an_unfinished_line_stands) {
    const auto root = grammar();
    const Words value_to_come{"exec", "X", "--timeout"};
    const Words deep{"--json", "node", "drain"};

    EXPECT_EQ(walk(root, value_to_come).open_option, "--timeout");
    EXPECT_THAT(walk(root, value_to_come).positionals, ElementsAre("X"));
    EXPECT_THAT(walk(root, deep).path, ElementsAre("node", "drain"));
}

TEST(Walk, collects_options_that_do_not_exist) {
    const auto root = grammar();
    const Words words{"exec", "--timeot", "2", "--", "--nonsense"};

    EXPECT_THAT(walk(root, words).unknown, ElementsAre("--timeot"));
}

}  // namespace
}  // namespace sandbox::cli
