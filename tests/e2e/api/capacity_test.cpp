// Fifty creates at once against room for five, on a real engine: five sandboxes, forty-five refusals that say why.
#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/http_call.hpp"
#include "support/process.hpp"

namespace sandbox::test {
namespace {

using nlohmann::json;

constexpr const char* kImage = "sandbox-base-busybox:local";

json small_spec() {
    return {{"spec",
             {{"tenant", "acme"},
              {"image", kImage},
              {"resources", {{"cpu_millis", 100}, {"memory_mib", 64}, {"disk_mib", 64}, {"pids", 32}}}}}};
}

std::vector<Reply> all(int count, const std::function<Reply()>& request) {
    std::vector<Reply> replies(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    threads.reserve(replies.size());
    for (auto& reply : replies) threads.emplace_back([&] { reply = request(); });
    for (auto& thread : threads) thread.join();
    return replies;
}

TEST(Capacity, fifty_creates_for_five_places_give_five) {
    Daemon daemon({.variables = {{"SANDBOX__NODE__MAX_SANDBOXES", "5"}}});

    const auto replies =
        all(50, [&] { return call(daemon.address(), "POST", "/v1/sandboxes?wait_seconds=60", small_spec().dump()); });

    std::vector<std::string> ids;
    int refused = 0;
    for (const auto& reply : replies) {
        if (reply.status == 201) {
            EXPECT_EQ(reply.json()["sandbox"]["state"], "running") << reply.body;
            ids.push_back(reply.json()["sandbox"]["id"].get<std::string>());
        } else {
            ++refused;
            EXPECT_EQ(reply.status, 503U);
            EXPECT_EQ(reply.json()["code"], "no_capacity");
            EXPECT_EQ(reply.json()["details"], json({{"nodes", 1}, {"rejected", {{"sandbox_limit", 1}}}}));
        }
    }
    EXPECT_EQ(ids.size(), 5U);
    EXPECT_EQ(refused, 45);
    for (const auto& id : ids)
        EXPECT_EQ(call(daemon.address(), "DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60").status, 202U);
    const auto node = call(daemon.address(), "GET", "/v1/nodes").json()["nodes"][0];
    EXPECT_EQ(node["capacity"]["available"], node["capacity"]["total"]);
    EXPECT_EQ(node["capacity"]["running_sandboxes"], 0);
}

// The room of a failed create is free again.
TEST(Capacity, a_failed_create_gives_its_room_back) {
    Daemon daemon({.variables = {{"SANDBOX__NODE__MAX_SANDBOXES", "1"}}});
    auto missing = small_spec();
    missing["spec"]["image"] = "sandbox-no-such-image:local";
    const auto failed = call(daemon.address(), "POST", "/v1/sandboxes?wait_seconds=60", missing.dump());
    EXPECT_EQ(failed.status, 201U);
    EXPECT_EQ(failed.json()["sandbox"]["state"], "failed");
    EXPECT_THAT(failed.json()["operation"]["error"].get<std::string>(),
                testing::HasSubstr("sandbox-no-such-image:local"));

    const auto created = call(daemon.address(), "POST", "/v1/sandboxes?wait_seconds=60", small_spec().dump());
    ASSERT_EQ(created.status, 201U) << created.body;
    EXPECT_EQ(created.json()["sandbox"]["state"], "running");
    const auto id = created.json()["sandbox"]["id"].get<std::string>();
    EXPECT_EQ(call(daemon.address(), "DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60").json()["operation"]["state"],
              "succeeded");
}

// Twenty creates with one key are one sandbox, and every answer is the same.
TEST(Idempotency, twenty_creates_with_one_key_make_one_sandbox) {
    Daemon daemon;
    const std::map<std::string, std::string> once{{"Idempotency-Key", "one-and-only"}};
    const auto replies =
        all(20, [&] { return call(daemon.address(), "POST", "/v1/sandboxes", small_spec().dump(), once); });
    for (const auto& reply : replies) {
        EXPECT_EQ(reply.status, 201U);
        EXPECT_EQ(reply.json(), replies[0].json());
    }
    EXPECT_EQ(call(daemon.address(), "GET", "/v1/sandboxes").json()["sandboxes"].size(), 1U);

    auto other = small_spec();
    other["spec"]["ttl_seconds"] = 60;
    EXPECT_EQ(call(daemon.address(), "POST", "/v1/sandboxes", other.dump(), once).status, 409U);

    const auto id = replies[0].json()["sandbox"]["id"].get<std::string>();
    EXPECT_EQ(call(daemon.address(), "DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60").status, 202U);
    EXPECT_EQ(call(daemon.address(), "DELETE", "/v1/sandboxes/" + id).status, 200U);
}

}  // namespace
}  // namespace sandbox::test
