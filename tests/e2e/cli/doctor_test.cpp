#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

class Doctor : public CliTest {};

TEST_F(Doctor, finds_a_healthy_server_healthy) {
    const auto ended = run({"doctor"});

    EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, ::testing::ContainsRegex("server +ok +sandboxd [0-9.]+ at " + daemon().url()));
    EXPECT_THAT(ended.out, ::testing::ContainsRegex("store +ok +memory"));
    EXPECT_THAT(ended.out, ::testing::ContainsRegex("tunnels +ok +off"));
    EXPECT_THAT(ended.out, ::testing::ContainsRegex("clock +ok"));
    EXPECT_THAT(ended.out, ::testing::ContainsRegex("token +ok +none is needed"));
    EXPECT_THAT(ended.out, ::testing::ContainsRegex("nodes +ok +1 ready, 0 draining, 0 silent; free: "));
}

// Programs get the server's own document with what was found beside its fields.
TEST_F(Doctor, adds_to_the_health_document) {
    const auto document = json({"doctor"});

    EXPECT_EQ(document["status"], "ok");
    EXPECT_EQ(document["store"], "memory");
    EXPECT_EQ(document["tunnels"]["enabled"], false);
    EXPECT_EQ(document["server"], daemon().url());
    EXPECT_LT(std::abs(document["clock_difference_ms"].get<int>()), 5000);
    EXPECT_EQ(document["nodes"]["ready"], 1);
    EXPECT_GT(document["nodes"]["free"]["cpu_millis"], 0);
    EXPECT_EQ(document["checks"].size(), 6U);
}

TEST_F(Doctor, fails_when_nobody_answers) {
    const auto ended = run({"doctor", "--server", "http://127.0.0.1:9"});

    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.out, ::testing::ContainsRegex("server +failed"));
    EXPECT_EQ(json_error({"doctor", "--server", "http://127.0.0.1:9"})["code"], "unavailable");
}

// A drained fleet takes nothing: that is worth a red line and the command that mends it.
TEST_F(Doctor, names_what_to_do_when_no_node_takes_anything) {
    const auto id = json({"node", "list"})[0]["id"].get<std::string>();
    ASSERT_EQ(run({"node", "drain", id}).status, 0);

    const auto ended = run({"doctor"});
    ASSERT_EQ(run({"node", "undrain", id}).status, 0);

    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.out, HasSubstr("nodes: `sandbox node undrain ID`"));
}

}  // namespace
}  // namespace sandbox::test
