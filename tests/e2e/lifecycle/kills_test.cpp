// The worker killed at any moment under load: nothing is left behind, nothing is lost, nothing runs twice.
// SANDBOX_TEST_KILLS says how often (a few in continuous integration, fifty by hand).
#include <atomic>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "fleet.hpp"

namespace sandbox::test {
namespace {

const int kKills = repeats("SANDBOX_TEST_KILLS", 5);

/// Uses the API as a busy client does, and checks what it sees; counts what went right.
class Client {
public:
    Client(Api api, std::atomic<bool>& over) : api_(std::move(api)), over_(over) {}

    void run() {
        for (int round = 0; !over_; ++round) {
            const auto made =
                api_.create({{"resources", {{"cpu_millis", 100}, {"memory_mib", 64}, {"disk_mib", 64}, {"pids", 32}}}});
            const auto id = made["sandbox"]["id"].get<std::string>();
            sandboxes.push_back(id);
            operations.push_back(made["operation"]["id"].get<std::string>());
            if (made["sandbox"]["state"] == "running") use(id, round);
            if (api_.destroy(id)["state"] != "succeeded") faults.push_back("not deleted: " + id);
        }
    }

    std::vector<std::string> sandboxes;
    std::vector<std::string> operations;
    int commands_done = 0;
    std::vector<std::string> faults;

private:
    void use(const std::string& id, int round) {
        std::set<std::string> succeeded;
        for (int i = 0; i < 4 && !over_; ++i) {
            const auto mark = std::to_string(round) + "." + std::to_string(i);
            const auto reply = call(
                api_.address(), "POST", "/v1/sandboxes/" + id + "/exec?wait_seconds=60",
                json{{"command", {{"argv", {"sh", "-c", "echo " + mark + " >> /workspace/n; sleep 0.3"}}}}}.dump());
            if (reply.status == 409) return;  // the sandbox failed with its worker's remains
            const auto operation = reply.json()["operation"];
            operations.push_back(operation["id"].get<std::string>());
            if (operation["state"] == "succeeded") {
                succeeded.insert(mark);
                ++commands_done;
            }
        }
        const auto reply = call(api_.address(), "POST", "/v1/sandboxes/" + id + "/exec?wait_seconds=60",
                                json{{"command", {{"argv", {"cat", "/workspace/n"}}}}}.dump());
        if (reply.status != 202 || reply.json()["operation"]["state"] != "succeeded") return;
        std::istringstream lines(reply.json()["operation"]["output"]["stdout"].get<std::string>());
        std::multiset<std::string> seen;
        for (std::string line; std::getline(lines, line);) seen.insert(line);
        for (const auto& mark : seen)
            if (seen.count(mark) != 1) faults.push_back("ran twice: " + mark);
        for (const auto& mark : succeeded)
            if (seen.count(mark) != 1) faults.push_back("succeeded but did not run: " + mark);
    }

    Api api_;
    std::atomic<bool>& over_;
};

TEST(Kills, of_the_worker_under_load_lose_and_double_nothing) {
    Fleet fleet;
    fleet.start_worker();
    const auto api = fleet.api();
    std::atomic<bool> over = false;
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(std::make_unique<Client>(api, over));
        threads.emplace_back([&client = *clients.back()] { client.run(); });
    }

    std::minstd_rand random(20261130);  // a seed of its own: a failure can be repeated
    std::uniform_int_distribution<int> moment(200, 2500);
    for (int i = 0; i < kKills; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(moment(random)));
        fleet.kill_worker();
        fleet.start_worker();
    }
    std::this_thread::sleep_for(2s);
    over = true;
    for (auto& thread : threads) thread.join();

    int done = 0;
    for (const auto& client : clients) {
        EXPECT_EQ(client->faults, std::vector<std::string>{});
        done += client->commands_done;
        for (const auto& id : client->operations) {
            const auto state = api.wait(id)["state"];
            EXPECT_TRUE(state == "succeeded" || state == "failed") << api.wait(id).dump();
        }
        for (const auto& id : client->sandboxes) {
            EXPECT_EQ(api.sandbox(id)["state"], "stopped") << api.sandbox(id).dump();
            EXPECT_EQ(engine_holds(id), "");
        }
    }
    EXPECT_GT(done, kKills);
    EXPECT_TRUE(eventually(20s, [&] { return api.node()["capacity"]["available"] == api.node()["capacity"]["total"]; }))
        << api.node()["capacity"].dump();
}

}  // namespace
}  // namespace sandbox::test
