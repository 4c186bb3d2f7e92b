#include <sandbox/domain/spec.hpp>
#include <sandbox/domain/validation.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

/// What is wrong with a command as an operator sends it: reading and rules together.
std::string problems_of(const nlohmann::json& json) {
    Problems problems;
    const auto command = read_command(json, "command", problems, UnknownFields::refuse);
    validate(command, "command", problems);
    return joined(problems);
}

Command read(const nlohmann::json& json) {
    Problems problems;
    auto command = read_command(json, "command", problems, UnknownFields::refuse);
    EXPECT_EQ(joined(problems), "");
    return command;
}

TEST(Command, has_defaults_for_all_but_argv) {
    const auto command = read(json_of(R"({"argv": ["ls"]})"));

    EXPECT_EQ(command, (Command{.argv = {"ls"}, .cwd = {}, .env = {}, .timeout_seconds = 300, .stdin_bytes = {}}));
    EXPECT_EQ(nlohmann::json(command), json_of(R"({"argv": ["ls"], "cwd": null, "env": {}, "timeout_seconds": 300,
                                                   "stdin": null, "stdin_base64": null})"));
}

TEST(Command, survives_the_way_through_json_byte_for_byte) {
    const Command command{.argv = {"sh", "", "$(x) *\n", "caf\xC3\xA9"},
                          .cwd = "/workspace",
                          .env = {{"TOKEN", "two\nlines"}, {"_x1", ""}},
                          .timeout_seconds = 86'400,
                          .stdin_bytes = "text"};

    EXPECT_EQ(read(nlohmann::json(command)), command);
}

TEST(Command, sends_input_as_text_where_it_can_and_as_base64_else) {
    Command command{.argv = {"cat"}, .cwd = {}, .env = {}, .timeout_seconds = 1, .stdin_bytes = {}};
    for (const auto& [bytes, is_text] : std::vector<std::pair<std::string, bool>>{
             {"", true}, {"caf\xC3\xA9\n", true}, {std::string("a\0b", 3), false}, {"\xFF\xFE", false}}) {
        command.stdin_bytes = bytes;
        const nlohmann::json json = command;

        EXPECT_EQ(json["stdin"].is_string(), is_text);
        EXPECT_EQ(json["stdin_base64"].is_string(), !is_text);
        EXPECT_EQ(read(json).stdin_bytes, bytes);
    }
}

TEST(Command, needs_a_program) {
    EXPECT_EQ(problems_of(json_of(R"({})")), "command.argv: is required");
    EXPECT_EQ(problems_of(json_of(R"({"argv": []})")), "command.argv: must hold at least the program to run");
    EXPECT_EQ(problems_of(json_of(R"({"argv": [" \t"]})")), "command.argv[0]: must name a program, not be blank");
    EXPECT_EQ(problems_of(json_of(R"({"argv": "ls"})")), "command.argv: must be an array");
}

TEST(Command, takes_input_in_one_form_only) {
    EXPECT_EQ(problems_of(json_of(R"({"argv": ["a"], "stdin": "", "stdin_base64": ""})")),
              "command.stdin_base64: can't be given together with stdin");
    EXPECT_EQ(problems_of(json_of(R"({"argv": ["a"], "stdin_base64": "abc"})")),
              "command.stdin_base64: is no base64 (RFC 4648, with padding)");
}

TEST(Command, has_a_time_limit_from_a_second_to_a_day) {
    for (const auto& good : {"1", "86400"})
        EXPECT_EQ(problems_of(json_of(R"({"argv": ["a"], "timeout_seconds": )" + std::string(good) + "}")), "");
    for (const auto& bad : {"0", "-1", "86401", "1.5", "\"1\"", "18446744073709551615"})
        EXPECT_EQ(problems_of(json_of(R"({"argv": ["a"], "timeout_seconds": )" + std::string(bad) + "}")),
                  "command.timeout_seconds: must be an integer from 1 to 86400");
}

// The kernel's limit of one argument or variable is 131072 bytes with the NUL at its end.
TEST(Command, keeps_each_argument_and_variable_within_the_kernels_limit) {
    const std::string longest(131'071, 'x');
    const std::string value(131'071 - 2, 'x');

    EXPECT_EQ(problems_of({{"argv", {"a", longest}}, {"env", {{"A", value}}}}), "");
    EXPECT_EQ(problems_of({{"argv", {"a", longest + "x"}}}),
              "command.argv[1]: has 131072 bytes; the kernel takes at most 131071 in one argument");
    EXPECT_EQ(problems_of({{"argv", {"a"}}, {"env", {{"A", value + "x"}}}}),
              "command.env.A: has 131072 bytes as NAME=VALUE; the kernel takes at most 131071 in one variable");
}

TEST(Command, never_shows_a_variables_value_in_a_problem) {
    const auto text = problems_of({{"argv", {"a"}}, {"env", {{"1BAD", "s3cr3t"}, {"", "s3cr3t"}, {"A=B", "s3cr3t"}}}});

    EXPECT_EQ(text.find("s3cr3t"), std::string::npos);
    EXPECT_NE(text.find("command.env[\"1BAD\"]: is no name for a variable"), std::string::npos) << text;
}

TEST(Command, holds_no_nul_but_in_its_input) {
    Command command{.argv = {"a", std::string("b\0c", 3)},
                    .cwd = std::string("/\0", 2),
                    .env = {{"A", std::string("\0", 1)}},
                    .timeout_seconds = 1,
                    .stdin_bytes = std::string("\0", 1)};
    Problems problems;
    validate(command, "command", problems);

    EXPECT_EQ(problems.items(), (std::vector<std::string>{"command.argv[1]: must not hold a NUL character",
                                                          "command.env.A: must not hold a NUL character",
                                                          "command.cwd: must not hold a NUL character"}));
}

TEST(Command, refuses_fields_that_do_not_exist_from_operators_and_ignores_them_from_peers) {
    const auto json = json_of(R"({"argv": ["a"], "timeout": 5})");
    EXPECT_EQ(problems_of(json), "command.timeout: unknown field; did you mean \"timeout_seconds\"?");

    Problems problems;
    EXPECT_EQ(read_command(json, "command", problems, UnknownFields::ignore).timeout_seconds, 300);
    EXPECT_EQ(joined(problems), "");
}

}  // namespace
}  // namespace sandbox::domain
