// Connections to PostgreSQL that end one by one, and statements that hang: whoever is hit is refused clearly, everybody
// else is served, and nothing is lost.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "account.hpp"
#include "prober.hpp"
#include "traffic.hpp"

namespace sandbox::test {
namespace {

using std::chrono::steady_clock;

TEST(DatabaseConnections, cut_one_by_one_under_load_lose_and_double_nothing) {
    Cluster cluster;
    Runs runs;
    const CountedNode one(cluster.address(0), runs);
    const CountedNode other(cluster.address(1), runs);
    Crowd crowd(cluster, runs, 6);
    ASSERT_TRUE(crowd.serve(12));
    Prober prober(cluster.address(2), Prober::harmless(one.id()));

    for (int i = 0; i < repeats("SANDBOX_TEST_CUTS", 80); ++i) {
        cluster.postgres().query("postgres", R"(
            select pg_terminate_backend(pid) from (
                select pid from pg_stat_activity where application_name = 'sandboxd' order by random() limit 1) one)");
        std::this_thread::sleep_for(50ms);
    }
    EXPECT_TRUE(crowd.serve(12));
    crowd.leave();

    expect_clear(prober.stop());
    std::printf("%d commands; %d times unavailable\n", crowd.commands, crowd.unavailable);
    EXPECT_EQ(crowd.unanswered, 0);
    expect_in_order(cluster, crowd.sandboxes);
}

class LockedNode : public testing::Test {
protected:
    static json on(const char* node) { return small_spec({{"placement", {{"required_labels", {{"node", node}}}}}}); }
    [[nodiscard]] Reply create(std::size_t number, const char* node) const {
        return call(cluster.address(number), "POST", "/v1/sandboxes?wait_seconds=60", on(node).dump());
    }
    [[nodiscard]] Reply exec(std::size_t number, const std::string& sandbox) const {
        return call(cluster.address(number), "POST", "/v1/sandboxes/" + sandbox + "/exec?wait_seconds=60",
                    R"({"command":{"argv":["work","10"]}})");
    }

    Cluster cluster;
    Runs runs;
    CountedNode held{cluster.address(0), runs, {.labels = {{"node", "held"}}}};
    CountedNode open{cluster.address(1), runs, {.labels = {{"node", "open"}}}};
};

// Somebody's session holds a node's row and does not let go: a backup, a person with psql.
TEST_F(LockedNode, refuses_its_creates_within_seconds_while_all_else_goes_on) {
    const auto there = create(0, "open").json()["sandbox"]["id"].get<std::string>();
    cluster.postgres().query("postgres", "begin; select 1 from sandbox.nodes where id = '" + held.id() +
                                             "' for update; select 1 from sandbox.ledgers where node_id = '" +
                                             held.id() + "' for update");
    Prober prober(cluster.address(0), {{.method = "GET", .target = "/v1/sandboxes?limit=10", .body = {}},
                                       {.method = "GET", .target = "/v1/nodes", .body = {}}});

    std::vector<std::future<std::pair<Reply, steady_clock::duration>>> creates;
    for (std::size_t i = 0; i < 6; ++i)
        creates.push_back(std::async(std::launch::async, [this, i] {
            const auto asked = steady_clock::now();
            auto reply = create(i, "held");
            return std::pair(std::move(reply), steady_clock::now() - asked);
        }));
    std::size_t made = 0;
    for (std::size_t i = 0; i < 10; ++i) {
        const auto done = exec(i, there);
        EXPECT_EQ(done.status, 202U) << done.body;
        EXPECT_EQ(done.json()["operation"]["state"], "succeeded") << done.body;
        const auto reply = create(i, "open");
        EXPECT_EQ(reply.status, 201U) << reply.body;
        if (reply.status == 201) ++made;
    }
    for (auto& one : creates) {
        const auto [reply, took] = one.get();
        EXPECT_EQ(reply.status, 503U) << reply.body;
        EXPECT_EQ(reply.json()["code"], "unavailable") << reply.body;
        EXPECT_LE(took, kRefusedWithin) << reply.body;
    }
    const auto answers = prober.stop();
    for (const auto& answer : answers) EXPECT_EQ(answer.status, 200U) << answer.body;

    cluster.postgres().query("postgres", "rollback");
    EXPECT_TRUE(eventually(8s, [&] { return create(1, "held").status == 201; }));
    // What was refused is not there either.
    EXPECT_EQ(listed(cluster.address(0), "sandboxes").size(), 1 + made + 1);
    for (const auto& sandbox : listed(cluster.address(0), "sandboxes"))
        EXPECT_EQ(
            call(cluster.address(1), "DELETE", "/v1/sandboxes/" + sandbox["id"].get<std::string>() + "?wait_seconds=60")
                .json()["operation"]["state"],
            "succeeded");
    expect_free_nodes(cluster);
    expect_whole_log(cluster);
}

}  // namespace
}  // namespace sandbox::test
