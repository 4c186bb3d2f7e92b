// list, inspect, extend.
#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

class Sandboxes : public CliTest {};

TEST_F(Sandboxes, are_listed_newest_first_and_hidden_when_they_have_ended) {
    const auto first = sandbox();
    const auto second = sandbox();
    const auto gone = sandbox();
    ASSERT_EQ(run({"delete", gone}).status, 0);

    EXPECT_EQ(run({"list", "--quiet"}).out, second + "\n" + first + "\n");
    EXPECT_EQ(run({"list", "--quiet", "--all"}).out, gone + "\n" + second + "\n" + first + "\n");
    EXPECT_EQ(run({"list", "--quiet", "--state", "stopped"}).out, gone + "\n");
    const auto table = run({"list"}).out;
    EXPECT_THAT(table, StartsWith("ID "));
    EXPECT_THAT(table, ::testing::ContainsRegex(first + "  running  sandbox-base-busybox:local  " + tenant() +
                                                "  +container  +[0-9]+ s +in [0-9]+ min\n"));
    EXPECT_EQ(json({"list"})[1]["id"], first);
}

TEST_F(Sandboxes, of_nobody_are_an_empty_list) {
    EXPECT_EQ(json({"list"}), nlohmann::json::array());
    const auto human = run({"list"});
    EXPECT_EQ(human.out, "");
    EXPECT_THAT(human.err, HasSubstr("there are no such sandboxes"));
}

// Ids of one minute share their beginning, so people use the end.
TEST_F(Sandboxes, are_known_by_shortened_ids) {
    const auto id = sandbox();

    EXPECT_EQ(json({"inspect", id.substr(24)})["id"], id);
    EXPECT_EQ(json({"inspect", id.substr(28)})["id"], id);
    EXPECT_EQ(run({"exec", id.substr(26), "true"}).status, 0);
    EXPECT_EQ(json_error({"inspect", "f00f00f00f00"})["code"], "not_found");
    EXPECT_EQ(json_error({"inspect", "short"}, 2)["code"], "usage");
}

TEST_F(Sandboxes, that_share_a_shortened_id_are_all_named) {
    const auto first = sandbox();
    const auto second = sandbox();

    const auto error = json_error({"inspect", first.substr(0, 6)}, 2)["message"].get<std::string>();

    EXPECT_THAT(error, HasSubstr(first));
    EXPECT_THAT(error, HasSubstr(second));
}

// Values of variables may be secrets; people see their names.
TEST_F(Sandboxes, are_inspected_without_showing_values) {
    const auto id = sandbox({"--label", "team=core", "--env", "TOKEN=s3cr3t-value"});

    const auto shown = run({"inspect", id}).out;

    EXPECT_THAT(shown, ::testing::ContainsRegex("ID: +" + id));
    EXPECT_THAT(shown, ::testing::ContainsRegex("State: +running"));
    EXPECT_THAT(shown, ::testing::ContainsRegex("Labels: +team=core"));
    EXPECT_THAT(shown, ::testing::ContainsRegex("Environment: +TOKEN"));
    EXPECT_THAT(shown, Not(HasSubstr("s3cr3t")));
    EXPECT_EQ(json({"inspect", id})["spec"]["env"]["TOKEN"], "s3cr3t-value");
}

TEST_F(Sandboxes, live_longer_when_they_are_extended) {
    const auto id = sandbox({"--ttl", "60"});
    const auto before = json({"inspect", id})["expires_at"].get<std::string>();

    const auto document = json({"extend", id, "--ttl", "7200"});

    EXPECT_GT(document["expires_at"].get<std::string>(), before);
    EXPECT_THAT(run({"extend", id, "--ttl", "7300"}).out, MatchesRegex(id + " expires in 2 h, at 20[0-9T:.-]+Z\n"));
    EXPECT_EQ(json_error({"extend", id, "--ttl", "5"})["code"], "invalid_request");
    EXPECT_EQ(json_error({"extend", kNobody, "--ttl", "60"})["code"], "not_found");
}

}  // namespace
}  // namespace sandbox::test
