// Three controllers and a worker of its own process, with a real engine.
#include "../lifecycle/fleet.hpp"
#include "account.hpp"

namespace sandbox::test {
namespace {

TEST(Engine, keeps_nothing_of_sandboxes_that_are_deleted_right_after_their_create) {
    const Cluster cluster;
    WorkerProcess worker("http://" + cluster.address(0));
    worker.start_registered();
    std::vector<std::string> sandboxes;
    std::vector<std::string> deletes;
    const auto rounds = static_cast<std::size_t>(repeats("SANDBOX_TEST_ROUNDS", 9));
    for (std::size_t i = 0; i < rounds; ++i) {
        const auto made = call(cluster.address(i), "POST", "/v1/sandboxes", small_spec({{"image", kImage}}).dump());
        ASSERT_EQ(made.status, 201U) << made.body;
        sandboxes.push_back(made.json()["sandbox"]["id"].get<std::string>());
        std::this_thread::sleep_for(10ms);
        const auto first = call(cluster.address(i + 1), "DELETE", "/v1/sandboxes/" + sandboxes.back());
        const auto second = call(cluster.address(i + 2), "DELETE", "/v1/sandboxes/" + sandboxes.back());
        EXPECT_TRUE(first.status == 202 || first.status == 200) << first.body;
        EXPECT_TRUE(second.status == 202 || second.status == 200) << second.body;
        EXPECT_EQ(first.json()["operation"]["id"], second.json()["operation"]["id"]);
        deletes.push_back(first.json()["operation"]["id"].get<std::string>());
    }
    for (const auto& operation : deletes) EXPECT_EQ(Api(cluster.address(1)).wait(operation)["state"], "succeeded");
    for (const auto& id : sandboxes) {
        EXPECT_EQ(Api(cluster.address(2)).sandbox(id)["state"], "stopped");
        EXPECT_TRUE(eventually(20s, [&] { return engine_holds(id).empty(); })) << engine_holds(id);
    }
    expect_free_nodes(cluster);
}

// Times are the database's: the worker's own clock decides nothing.
TEST(Engine, of_a_worker_whose_clock_is_an_hour_ahead_serves_all_the_same) {
    const Cluster cluster;
    WorkerProcess worker("http://" + cluster.address(0), an_hour_ahead());
    worker.start_registered();
    const Api api(cluster.address(1));
    const auto id = api.running({{"ttl_seconds", 30}});
    // Longer than a lease.
    EXPECT_EQ(api.run(id, {"sh", "-c", "sleep 12; echo slow"})["output"]["stdout"], "slow\n");
    EXPECT_EQ(api.sandbox(id)["state"], "running");
    for (const auto& node : nodes(cluster.address(2))) EXPECT_EQ(node["capacity"]["running_sandboxes"], 1);
    EXPECT_TRUE(eventually(60s, [&] { return api.sandbox(id)["state"] == "stopped"; })) << api.sandbox(id).dump();
    EXPECT_EQ(engine_holds(id), "");
}

}  // namespace
}  // namespace sandbox::test
