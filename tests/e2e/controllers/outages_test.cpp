// PostgreSQL and NATS away for some seconds under load (SANDBOX_TEST_OUTAGE_SECONDS says how many): refusals are quick
// and clear, service is back soon, and nothing is lost.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "account.hpp"
#include "prober.hpp"
#include "traffic.hpp"

namespace sandbox::test {
namespace {

using std::chrono::steady_clock;

/// Stops the processes of a server where they are, or lets them go on.
void signal_all(pid_t parent, int signal) {
    const auto text = std::to_string(parent);
    std::ifstream children("/proc/" + text + "/task/" + text + "/children");
    for (pid_t child = 0; children >> child;) ::kill(child, signal);
    ::kill(parent, signal);
}

/// A way in which a database is away, and how it comes back.
struct Absence {
    const char* name;
    void (*begin)(PostgresServer&);
    void (*end)(PostgresServer&);
};

class DatabaseAway : public testing::TestWithParam<Absence> {};

TEST_P(DatabaseAway, under_load_gives_clear_refusals_and_loses_nothing) {
    Cluster cluster;
    Runs runs;
    const CountedNode one(cluster.address(0), runs);
    const CountedNode other(cluster.address(1), runs);
    Crowd crowd(cluster, runs, 6);
    ASSERT_TRUE(crowd.serve(12));
    std::vector<std::unique_ptr<Prober>> probers;
    for (const auto& address : cluster.addresses())
        probers.push_back(std::make_unique<Prober>(address, Prober::harmless(one.id())));
    const auto all_serve_since = [&](steady_clock::time_point moment) {
        return std::ranges::all_of(probers, [&](const auto& prober) { return prober->serves_since(moment); });
    };
    ASSERT_TRUE(eventually(30s, [&] { return all_serve_since(steady_clock::time_point{} + 1ns); }));

    GetParam().begin(cluster.postgres());
    const auto gone = steady_clock::now();
    std::this_thread::sleep_for(outage());
    const auto returning = steady_clock::now();
    GetParam().end(cluster.postgres());
    const auto back = steady_clock::now();
    const bool serves = eventually(30s, [&] { return all_serve_since(back); });
    const auto pause = std::chrono::duration<double>(steady_clock::now() - back).count();
    EXPECT_TRUE(crowd.serve(12)) << "nobody is served after its return";
    crowd.leave();

    EXPECT_TRUE(serves);
    EXPECT_LT(pause, 5 + 3) << "promised are five seconds";
    std::printf("all three serve everything %.2f s after its return\n", pause);
    for (const auto& prober : probers) {
        const auto answers = prober->stop();
        expect_clear(answers);
        for (const auto& answer : answers)
            if (answer.asked >= gone && answer.asked + answer.took < returning)
                EXPECT_EQ(answer.status, 503U) << answer.body;
    }
    expect_in_order(cluster, crowd.sandboxes);
}

INSTANTIATE_TEST_SUITE_P(Each, DatabaseAway,
                         testing::Values(Absence{.name = "stopped",
                                                 .begin = [](PostgresServer& server) { server.stop(); },
                                                 .end = [](PostgresServer& server) { server.start(); }},
                                         Absence{.name = "crashed",
                                                 .begin = [](PostgresServer& server) { server.kill(); },
                                                 .end = [](PostgresServer& server) { server.start(); }},
                                         Absence{
                                             .name = "frozen",
                                             .begin = [](PostgresServer& server) { signal_all(server.pid(), SIGSTOP); },
                                             .end = [](PostgresServer& server) { signal_all(server.pid(), SIGCONT); }}),
                         [](const auto& info) { return info.param.name; });

TEST(BusAway, under_load_delays_events_and_loses_none) {
    Cluster cluster({.nats = true, .variables = {}});
    Runs runs;
    const CountedNode one(cluster.address(0), runs);
    const CountedNode other(cluster.address(1), runs);
    Crowd crowd(cluster, runs, 4);
    ASSERT_TRUE(crowd.serve(12));

    for (const bool orderly : {true, false}) {
        orderly ? cluster.nats().stop() : cluster.nats().kill();
        EXPECT_TRUE(crowd.serve(12)) << "customers wait for the bus";
        std::this_thread::sleep_for(outage());
        cluster.nats().start();
        EXPECT_TRUE(crowd.serve(12));
    }
    crowd.leave();

    EXPECT_EQ(crowd.unavailable, 0);
    expect_in_order(cluster, crowd.sandboxes);
    expect_whole_bus(cluster);
}

}  // namespace
}  // namespace sandbox::test
