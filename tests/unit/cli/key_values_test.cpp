#include <fstream>
#include <key_values.hpp>
#include <support/process.hpp>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using ::testing::HasSubstr;

std::string file_with(const test::TemporaryDirectory& folder, std::string_view content) {
    auto path = folder.path() + "/variables";
    std::ofstream(path, std::ios::binary) << content;
    return path;
}

// A value is everything behind the first "=", whatever it holds; a later one of the same key wins.
TEST(KeyValues, take_values_as_they_stand) {
    const auto values = read_key_values("--env", {"A=1", "B==x=y", "C=", "D=two\nlines", "A=2"});

    EXPECT_EQ(*values, (KeyValues{{"A", "2"}, {"B", "=x=y"}, {"C", ""}, {"D", "two\nlines"}}));
}

TEST(KeyValues, tell_which_one_is_malformed_without_showing_it) {
    for (const auto* bad : {"s3cr3t", "=s3cr3t"}) {
        const auto values = read_key_values("--env", {"A=1", bad});
        ASSERT_FALSE(values);
        EXPECT_EQ(values.error().message(), "--env number 2 is not of the form KEY=VALUE");
    }
}

TEST(EnvFile, skips_blank_lines_and_comments_and_keeps_quotes) {
    const test::TemporaryDirectory folder;
    const auto path = file_with(folder, "# provider\n\nKEY=\"quoted\" value \r\n  \nEMPTY=\nLAST=x # not a comment");

    EXPECT_EQ(*read_env_file(path),
              (KeyValues{{"KEY", "\"quoted\" value "}, {"EMPTY", ""}, {"LAST", "x # not a comment"}}));
}

TEST(EnvFile, names_the_line_that_is_wrong_without_showing_it) {
    const test::TemporaryDirectory folder;
    const auto values = read_env_file(file_with(folder, "A=1\ns3cr3t\n"));

    ASSERT_FALSE(values);
    EXPECT_THAT(values.error().message(), HasSubstr("line 2"));
    EXPECT_THAT(values.error().message(), Not(HasSubstr("s3cr3t")));
}

// A password store's answer need not become a file: --env-file <(pass show provider).
TEST(EnvFile, may_be_a_pipe) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], "A=1\nB=2\n", 8), 8);
    ::close(ends[1]);

    const auto values = read_env_file("/dev/fd/" + std::to_string(ends[0]));
    ::close(ends[0]);

    ASSERT_TRUE(values) << values.error().message();
    EXPECT_EQ(*values, (KeyValues{{"A", "1"}, {"B", "2"}}));
}

TEST(EnvFile, is_of_bounded_size_and_no_folder) {
    const test::TemporaryDirectory folder;

    EXPECT_THAT(read_env_file(folder.path()).error().message(), HasSubstr("Is a directory"));
    EXPECT_THAT(read_env_file("/dev/zero").error().message(), HasSubstr("more than 1 MiB"));
    EXPECT_THAT(read_env_file(file_with(folder, std::string(1024 * 1024 + 1, '#'))).error().message(),
                HasSubstr("more than 1 MiB"));
    EXPECT_EQ(read_env_file(folder.path() + "/absent").error().code(), Code::not_found);
}

// Single variables are the more deliberate ones.
TEST(Environment, lets_single_variables_win_over_files) {
    const test::TemporaryDirectory folder;
    const auto path = file_with(folder, "A=file\nB=file\n");

    EXPECT_EQ(*read_environment({"A=option"}, {path}), (KeyValues{{"A", "option"}, {"B", "file"}}));
}

TEST(Exposure, is_a_port_with_an_optional_subdomain) {
    EXPECT_EQ(read_exposure("8080")->container_port, 8080);
    EXPECT_EQ(read_exposure("8080")->subdomain, std::nullopt);
    EXPECT_EQ(read_exposure("80=web")->subdomain, "web");
    EXPECT_FALSE(read_exposure("web"));
    EXPECT_FALSE(read_exposure("80x"));
    EXPECT_FALSE(read_exposure(""));
}

}  // namespace
}  // namespace sandbox::cli
