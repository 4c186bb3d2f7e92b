// More creates at once than there is room for, spread over three controllers: nobody gets what another has.
#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "account.hpp"
#include "traffic.hpp"

namespace sandbox::test {
namespace {

/// The answers to so many requests at once; each is given its number.
std::vector<Reply> all(std::size_t count, const std::function<Reply(std::size_t)>& request) {
    std::vector<Reply> replies(count);
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { replies[i] = request(i); });
    for (auto& thread : threads) thread.join();
    return replies;
}

class Controllers : public testing::Test {
protected:
    /// By the controller of this number. One that had no time on a loaded machine (503 unavailable) is asked again.
    /// A wait that lasts as long as it may was not told of the operation's end.
    [[nodiscard]] Reply create(std::size_t number, const json& changes = json::object()) {
        const auto asked = std::chrono::steady_clock::now();
        auto reply = PatientClient({cluster.address(number)})
                         .ask("POST", "/v1/sandboxes?wait_seconds=60", small_spec(changes).dump(),
                              "create-" + std::to_string(++creates));
        EXPECT_LT(std::chrono::steady_clock::now() - asked, 50s) << "by controller " << number << ": " << reply.body;
        return reply;
    }
    [[nodiscard]] Reply remove(std::size_t number, const std::string& id) const {
        const auto asked = std::chrono::steady_clock::now();
        auto reply = PatientClient({cluster.address(number)}).ask("DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60");
        EXPECT_LT(std::chrono::steady_clock::now() - asked, 50s) << "by controller " << number << ": " << reply.body;
        return reply;
    }

    Cluster cluster;
    Runs runs;
    std::atomic<int> creates = 0;
};

TEST_F(Controllers, give_five_of_fifty_creates_the_room_that_there_is_for_five) {
    const CountedNode node(cluster.address(0), runs, {.max_sandboxes = 5, .labels = {}});
    for (int round = 0; round < repeats("SANDBOX_TEST_ROUNDS", 3); ++round) {
        const auto replies = all(50, [&](std::size_t number) { return create(number); });

        std::vector<std::string> ids;
        for (const auto& reply : replies) {
            if (reply.status == 201) {
                EXPECT_EQ(reply.json()["sandbox"]["state"], "running") << reply.body;
                ids.push_back(reply.json()["sandbox"]["id"].get<std::string>());
                continue;
            }
            EXPECT_EQ(reply.status, 503U);
            EXPECT_EQ(reply.json()["code"], "no_capacity") << reply.body;
            EXPECT_EQ(reply.json()["details"], json({{"nodes", 1}, {"rejected", {{"sandbox_limit", 1}}}}));
        }
        ASSERT_EQ(ids.size(), 5U) << "in round " << round;
        EXPECT_EQ(nodes(cluster.address(1))[0]["capacity"]["running_sandboxes"], 5);
        all(ids.size(), [&](std::size_t number) { return remove(number, ids[number]); });
        expect_free_nodes(cluster);
    }
}

// The room counts that any of several nodes has, and no controller takes a node for full that is not.
TEST_F(Controllers, fill_two_nodes_to_the_last_place) {
    const CountedNode one(cluster.address(0), runs, {.max_sandboxes = 7, .labels = {}});
    const CountedNode other(cluster.address(1), runs, {.max_sandboxes = 4, .labels = {}});
    for (int round = 0; round < repeats("SANDBOX_TEST_ROUNDS", 3); ++round) {
        const auto replies = all(30, [&](std::size_t number) { return create(number); });
        std::vector<std::string> ids;
        for (const auto& reply : replies)
            if (reply.status == 201) ids.push_back(reply.json()["sandbox"]["id"].get<std::string>());
        EXPECT_EQ(ids.size(), 11U) << "in round " << round;
        all(ids.size(), [&](std::size_t number) { return remove(number, ids[number]); });
        expect_free_nodes(cluster);
    }
}

TEST_F(Controllers, give_the_room_of_a_failed_create_to_whoever_asks_next_anywhere) {
    const CountedNode node(cluster.address(0), runs, {.max_sandboxes = 1, .labels = {}});
    for (std::size_t round = 0; round < 6; ++round) {
        const auto failed = create(round, {{"image", "missing/image:1"}});
        EXPECT_EQ(failed.status, 201U) << failed.body;
        EXPECT_EQ(failed.json()["sandbox"]["state"], "failed") << failed.body;

        const auto made = create(round + 1);
        ASSERT_EQ(made.status, 201U) << made.body;
        EXPECT_EQ(made.json()["sandbox"]["state"], "running");
        EXPECT_EQ(create(round + 2).json()["code"], "no_capacity");
        EXPECT_EQ(remove(round + 2, made.json()["sandbox"]["id"].get<std::string>()).status, 202U);
    }
    expect_free_nodes(cluster);
}

TEST_F(Controllers, make_one_sandbox_of_twenty_creates_with_one_key) {
    const CountedNode node(cluster.address(0), runs);
    for (int round = 0; round < repeats("SANDBOX_TEST_ROUNDS", 3); ++round) {
        const std::map<std::string, std::string> once{{"Idempotency-Key", "the-only-one-" + std::to_string(round)}};
        const auto tenant = "round-" + std::to_string(round);
        const auto body = small_spec({{"tenant", tenant}}).dump();
        const auto replies = all(
            20, [&](std::size_t number) { return call(cluster.address(number), "POST", "/v1/sandboxes", body, once); });

        for (const auto& reply : replies) {
            EXPECT_EQ(reply.status, 201U) << reply.body;
            EXPECT_EQ(reply.json(), replies[0].json());
        }
        const auto id = replies[0].json()["sandbox"]["id"].get<std::string>();
        for (const auto& address : cluster.addresses()) {
            EXPECT_EQ(call(address, "GET", "/v1/sandboxes?tenant=" + tenant).json()["sandboxes"].size(), 1U);
            EXPECT_EQ(call(address, "POST", "/v1/sandboxes", small_spec({{"tenant", "other"}}).dump(), once).status,
                      409U);
        }
        EXPECT_EQ(remove(1, id).status, 202U);
        EXPECT_EQ(remove(2, id).status, 200U);
        EXPECT_LE(runs.creates(id), 1);
    }
    expect_free_nodes(cluster);
}

}  // namespace
}  // namespace sandbox::test
