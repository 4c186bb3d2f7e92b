#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

class Delete : public CliTest {};

TEST_F(Delete, waits_until_the_sandbox_is_gone) {
    const auto id = sandbox();

    const auto ended = run({"delete", id});

    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.out, id + "\n");
    EXPECT_EQ(json({"inspect", id})["state"], "stopped");
    EXPECT_EQ(json_error({"exec", id, "true"})["code"], "conflict");
}

// One id gives one operation, several a list.
TEST_F(Delete, has_a_document_for_one_and_a_list_for_several) {
    const auto one = sandbox();
    const auto two = sandbox();
    const auto three = sandbox();

    const auto single = json({"delete", one});
    const auto list = json({"delete", two, three.substr(24)});

    EXPECT_EQ(single["sandbox_id"], one);
    EXPECT_EQ(single["state"], "succeeded");
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0]["sandbox_id"], two);
    EXPECT_EQ(list[1]["sandbox_id"], three);
}

// What can't be deleted stops nothing else, and shows in the exit status.
TEST_F(Delete, deletes_the_others_when_one_is_not_there) {
    const auto id = sandbox();

    const auto ended = run({"delete", kNobody, id});

    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.out, id + "\n");
    EXPECT_THAT(ended.err, HasSubstr("sandbox: "));
    EXPECT_EQ(json({"inspect", id})["state"], "stopped");
}

// What is no id at all is a matter of usage only as long as nothing has been done.
TEST_F(Delete, is_a_failure_and_no_usage_error_when_others_were_deleted) {
    const auto one = sandbox();
    const auto two = sandbox();

    const auto ended = run({"delete", one, two, "bad"});

    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.out, one + "\n" + two + "\n");
    EXPECT_THAT(ended.err, HasSubstr("bad is no sandbox id"));
    EXPECT_EQ(run({"delete", "bad"}).status, 2);
}

// Twice is no error: scripts clean up without asking first.
TEST_F(Delete, may_be_repeated) {
    const auto id = sandbox();

    const auto first = json({"delete", id, "--no-wait"});
    const auto second = json({"delete", id, "--wait"});
    const auto third = json({"delete", id});

    EXPECT_EQ(second["state"], "succeeded");
    EXPECT_EQ(first["id"], second["id"]);
    EXPECT_EQ(third["id"], second["id"]);
}

}  // namespace
}  // namespace sandbox::test
