// wait, cancel, operations, node.
#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

class Operations : public CliTest {
protected:
    [[nodiscard]] std::string background(const std::string& id, Words argv) const {
        Words words{"exec", id, "--no-wait", "--quiet", "--"};
        words.insert(words.end(), argv.begin(), argv.end());
        return run(words).out.substr(0, 36);
    }
};

TEST_F(Operations, are_listed_newest_first_with_their_commands) {
    const auto id = sandbox();
    ASSERT_EQ(run({"exec", id, "echo", "it's"}).status, 0);
    ASSERT_EQ(run({"exec", id, "false"}).status, 1);

    const auto table = run({"operations", id}).out;
    const auto list = json({"operations", id});

    EXPECT_THAT(table,
                MatchesRegex("ID .*\n.* exec +failed +[0-9]+ s +false\n.* exec +succeeded +[0-9]+ s +echo 'it'.*\n"
                             ".* create +succeeded +[0-9]+ s +-\n"));
    ASSERT_EQ(list.size(), 3U);
    EXPECT_EQ(list[0]["argv"], nlohmann::json{"false"});
    EXPECT_EQ(json({"operations", id, "--state", "failed"}).size(), 1U);
    EXPECT_EQ(json({"operations", id, "--limit", "2"}).size(), 2U);
    EXPECT_EQ(json({"operations", "--limit", "1"})[0]["id"], list[0]["id"]);
    EXPECT_THAT(run({"operations", "--limit", "1"}).out, HasSubstr(id));
}

TEST_F(Operations, are_waited_for_with_the_commands_result) {
    const auto id = sandbox();
    const auto operation = background(id, {"sh", "-c", "sleep 1; echo out; echo err >&2; exit 9"});

    const auto ended = run({"wait", operation});

    EXPECT_EQ(ended.status, 9);
    EXPECT_EQ(ended.out, "out\n");
    EXPECT_EQ(ended.err, "err\n");
    EXPECT_EQ(json({"wait", operation.substr(24)}, 9)["id"], operation);
}

// A wait that was not long enough says how to go on.
TEST_F(Operations, that_take_longer_than_the_wait_go_on) {
    const auto id = sandbox();
    const auto operation = background(id, {"sleep", "60"});

    const auto ended = run({"wait", operation, "--timeout", "1"});

    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("sandbox wait " + operation));
    EXPECT_EQ(json({"wait", operation, "--timeout", "0"}, 1)["state"], "running");
}

TEST_F(Operations, are_cancelled_while_they_run) {
    const auto id = sandbox();
    const auto operation = background(id, {"sh", "-c", "echo begun; sleep 60"});
    ASSERT_TRUE(eventually(10s, [&] { return json({"operations", id})[0]["state"] == "running"; }));

    const auto cancelled = run({"cancel", operation.substr(24)});
    const auto ended = run({"wait", operation});

    EXPECT_EQ(cancelled.status, 0) << cancelled.err;
    EXPECT_THAT(cancelled.out, MatchesRegex("exec " + operation + " is (being )?cancelled\n"));
    EXPECT_EQ(ended.status, 137);
    EXPECT_THAT(ended.err, HasSubstr("cancelled"));
}

// Too late is no error, but it is said.
TEST_F(Operations, that_have_ended_are_left_as_they_are) {
    const auto id = sandbox();
    const auto operation = json({"exec", id, "true"})["id"].get<std::string>();

    EXPECT_EQ(run({"cancel", operation}).out, "exec " + operation + " had already succeeded\n");
    EXPECT_EQ(json({"cancel", operation})["state"], "succeeded");
}

TEST_F(Operations, that_do_not_exist_are_not_found) {
    EXPECT_EQ(json_error({"cancel", kNobody})["code"], "not_found");
    EXPECT_EQ(json_error({"wait", kNobody})["code"], "not_found");
}

class Nodes : public CliTest {};

TEST_F(Nodes, are_drained_and_undrained) {
    const auto list = json({"node", "list"});
    ASSERT_EQ(list.size(), 1U);
    const auto id = list[0]["id"].get<std::string>();

    EXPECT_EQ(json({"node", "drain", id.substr(24)})["draining"], true);
    EXPECT_THAT(run({"node", "list"}).out, ::testing::ContainsRegex(id + "  [^ ]+ +draining "));
    EXPECT_EQ(json_error({"create", "--image", kImage})["code"], "no_capacity");
    EXPECT_THAT(run({"node", "undrain", id}).out, HasSubstr("takes new sandboxes again"));
    EXPECT_THAT(run({"node", "list"}).out, ::testing::ContainsRegex(id + "  [^ ]+ +ready "));
    EXPECT_EQ(run({"node", "list", "--quiet"}).out, id + "\n");
    EXPECT_EQ(json_error({"node", "drain", kNobody})["code"], "not_found");
}

}  // namespace
}  // namespace sandbox::test
