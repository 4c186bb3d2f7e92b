// A database that goes away, comes back, cuts connections or hangs: clear answers in time, and service again.
#include <algorithm>
#include <fstream>
#include <signal.h>
#include <sstream>

#include "controllers.hpp"

namespace sandbox::store {
namespace {

using std::chrono::steady_clock;

class Trouble : public Controllers {
protected:
    void SetUp() override {
        start();
        start();
        node_ = add_node((*this)[0]);
    }

    /// Creates go on at both controllers, and a worker does what it is given, until told to stop.
    void begin_work() {
        for (std::size_t i = 0; i < 8; ++i) asio::co_spawn(io_, create((*this)[i % 2]), asio::detached);
        asio::co_spawn(io_, work((*this)[0]), asio::detached);
    }
    void end_work() {
        stopping_ = true;
        ASSERT_TRUE(run_until([&] { return ended_ == 9; }));
    }
    bool has_created(int more) {
        const auto wanted = created_ + more;
        return run_until([&] { return created_ >= wanted; });
    }

    Task<void> create(Store& store) {
        while (!stopping_) {
            const auto start = steady_clock::now();
            auto placed = co_await store.place(small_sandbox(), {}, in(60s));
            note(start, placed);
            if (!placed) continue;
            created_ids_.push_back(placed->sandbox.id);
            ++created_;
        }
        ++ended_;
    }

    Task<void> work(Store& store) {
        std::vector<domain::Completion> reports;
        while (!stopping_) {
            const auto start = steady_clock::now();
            auto leased = co_await store.lease(node_, 100, in(100ms));
            note(start, leased);
            if (leased)
                for (const auto& assignment : leased->assignments) reports.push_back(success_of(assignment));
            while (!reports.empty() && !stopping_) {
                const auto then = steady_clock::now();
                auto done = co_await store.complete(reports.back(), in(60s));
                note(then, done);
                if (done) reports.pop_back();
            }
        }
        ++ended_;
    }

    template <class T>
    void note(steady_clock::time_point start, const Result<T>& result) {
        longest_ = std::max(longest_, steady_clock::now() - start);
        if (result) {
            last_success_ = steady_clock::now();
            return;
        }
        ++failures_;
        if (result.error().code() != Code::unavailable) others_.push_back(result.error().message());
    }

    /// Both controllers, one of which may find out later than the other that the database is back.
    void expect_service_again() {
        for (std::size_t i = 0; i < 2; ++i) {
            const auto until = steady_clock::now() + kFiveSecondsUnderLoad;
            while (error((*this)[i].ping(in(2s)))) {
                ASSERT_LT(steady_clock::now(), until) << "controller " << i;
                std::this_thread::sleep_for(10ms);
            }
        }
    }

    /// Every sandbox that was promised is there, and the ledger is the sum of what lives.
    void check_the_books() {
        expect_service_again();
        for (const auto& id : created_ids_) EXPECT_EQ(error((*this)[1].sandbox(id, in(10s))), std::nullopt);
        EXPECT_EQ(query("select count(*) from sandbox.ledgers l, lateral ("
                        "select count(*) as live, coalesce(sum(s.cpu), 0) as cpu from sandbox.sandboxes s "
                        "where s.node_id = l.node_id and s.state in ('scheduled','creating','running','stopping')) x "
                        "where l.live <> x.live or l.held_cpu <> x.cpu"),
                  "0");
        EXPECT_TRUE(others_.empty()) << others_.front();
    }

    domain::NodeId node_;
    bool stopping_ = false;
    int ended_ = 0;
    int created_ = 0;
    int failures_ = 0;
    std::vector<std::string> others_;
    std::vector<domain::SandboxId> created_ids_;
    steady_clock::duration longest_{0};
    steady_clock::time_point last_success_;
};

TEST_F(Trouble, a_database_that_is_away_for_a_while) {
    begin_work();
    ASSERT_TRUE(has_created(50));

    run_beside([] {
        server().stop();
        std::this_thread::sleep_for(1s);
    });
    EXPECT_EQ(error((*this)[0].ping(in(2s))), Code::unavailable);
    EXPECT_EQ(error((*this)[1].place(small_sandbox(), {}, in(60s))), Code::unavailable);
    run_beside([] { server().start(); });
    const auto back = steady_clock::now();
    ASSERT_TRUE(has_created(1));
    EXPECT_LT(steady_clock::now() - back, kFiveSecondsUnderLoad);

    ASSERT_TRUE(has_created(50));
    end_work();
    EXPECT_GT(failures_, 0);
    EXPECT_LT(longest_, kFiveSecondsUnderLoad);
    check_the_books();
}

// Whoever waits for an operation is told of its end, not of what happened meanwhile.
TEST_F(Trouble, a_wait_outlives_the_database_being_away) {
    const auto placed = place((*this)[0]);
    const auto given = value((*this)[0].lease(node_, 1, in(10s)));
    const auto waiting = begin((*this)[1].wait_operation(placed.operation.id, in(60s)));
    run_beside([] {
        server().stop();
        std::this_thread::sleep_for(2s);
        server().start();
    });
    EXPECT_FALSE(waiting->has_value());
    expect_service_again();
    value((*this)[0].complete(success_of(given.assignments.at(0)), in(10s)));

    ASSERT_TRUE(run_until([&] { return waiting->has_value(); }));
    ASSERT_TRUE(waiting->value()) << waiting->value().error().message();
    EXPECT_EQ(waiting->value()->state, domain::OperationState::succeeded);
}

TEST_F(Trouble, a_server_that_dies) {
    begin_work();
    ASSERT_TRUE(has_created(50));

    run_beside([] {
        server().kill();
        server().start();
    });

    ASSERT_TRUE(has_created(50));
    end_work();
    EXPECT_LT(longest_, kFiveSecondsUnderLoad);
    check_the_books();
}

// A heartbeat that brought nothing new is answered before it is on disk. Controllers that have seen it must not go on
// believing it.
TEST_F(Trouble, a_server_that_dies_takes_the_last_heartbeats_with_it) {
    value((*this)[0].drain(node_, true, {}, in(10s)));
    const auto node = add_node((*this)[0], 1);
    auto too_large = small_sandbox();
    too_large.resources.memory_mib = 1'000'001;
    EXPECT_EQ(error((*this)[0].place(too_large, {}, in(10s))), Code::resource_exhausted);  // it knows the node now
    const domain::Heartbeat report{.capacity = {.total = {1'000'000, 1'000'000, 10'000'000, 1'000'000},
                                                .available = {1'000'000, 1'000'000, 10'000'000, 1'000'000},
                                                .max_sandboxes = 1,
                                                .running_sandboxes = 0},
                                   .pressure = 0,
                                   .warm_images = {},
                                   .in_flight = std::vector<domain::InFlight>{},
                                   .inventory = std::vector<domain::InventoryItem>{}};
    for (int i = 0; i < 50; ++i) value((*this)[0].heartbeat(node, report, in(10s)));
    server().kill();
    server().start();
    expect_service_again();

    place((*this)[0]);
    // Full, as soon as the controllers have found out that they missed something.
    const auto until = steady_clock::now() + kFiveSecondsUnderLoad;
    while (error((*this)[0].place(small_sandbox(), {}, in(10s))) != Code::resource_exhausted) {
        ASSERT_LT(steady_clock::now(), until);
        run_beside([] { std::this_thread::sleep_for(10ms); });
    }
}

// Nodes could not tell of themselves meanwhile, so they are not taken for silent.
class ShortPatience : public Trouble {
protected:
    void SetUp() override {
        settings_.aegis.heartbeat_timeout = 2s;
        Trouble::SetUp();
    }
};

TEST_F(ShortPatience, nodes_are_not_silent_while_the_server_is_away) {
    value((*this)[0].sweep(in(10s)));
    server().stop();
    std::this_thread::sleep_for(3s);
    server().start();
    expect_service_again();

    place((*this)[1]);
    value((*this)[0].sweep(in(10s)));
    place((*this)[0]);
}

// The listener's connection, the publisher's and the pool's: each may be cut at any moment.
TEST_F(Trouble, connections_that_are_cut_one_by_one) {
    begin_work();
    ASSERT_TRUE(has_created(20));
    for (int i = 0; i < 40; ++i) {
        query(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sandboxd' "
            "and datname = current_database() order by random() limit 1");
        ASSERT_TRUE(has_created(3));
    }
    end_work();
    EXPECT_LT(longest_, kFiveSecondsUnderLoad);
    check_the_books();

    // And those that wait are still woken.
    const auto waiting = begin((*this)[1].lease(node_, 100, in(60s)));
    ASSERT_TRUE(run_until([&] { return waiting->has_value(); }));  // what was created last
}

// Somebody's session holds a lock that everybody needs, and does not go on.
TEST_F(Trouble, a_statement_that_hangs) {
    const auto placed = place((*this)[0]);
    query("begin; lock table sandbox.ledgers, sandbox.sandboxes in access exclusive mode");

    const auto start = steady_clock::now();
    const auto creating = begin((*this)[0].place(small_sandbox(), {}, in(60s)));
    const auto deleting = begin((*this)[1].destroy(placed.sandbox.id, {}, in(60s)));
    const auto reading = begin((*this)[1].sandbox(placed.sandbox.id, in(60s)));
    ASSERT_TRUE(run_until([&] { return creating->has_value() && deleting->has_value() && reading->has_value(); }));
    EXPECT_LT(steady_clock::now() - start, kFiveSecondsUnderLoad);
    EXPECT_EQ(creating->value().error().code(), Code::unavailable);
    EXPECT_EQ(deleting->value().error().code(), Code::unavailable);
    EXPECT_EQ(reading->value().error().code(), Code::unavailable);

    query("rollback");
    const auto back = steady_clock::now();
    ASSERT_TRUE(run_until([&] { return !error((*this)[0].place(small_sandbox(), {}, in(10s))); }));
    EXPECT_LT(steady_clock::now() - back, kFiveSecondsUnderLoad);
    check_the_books();
}

// All of the server's processes stand still: nothing is refused and nothing answers.
TEST_F(Trouble, a_server_that_stands_still) {
    place((*this)[0]);
    const auto signal_all = [](int number) {
        const auto parent = std::to_string(server().pid());
        std::ifstream children("/proc/" + parent + "/task/" + parent + "/children");
        ASSERT_EQ(::kill(server().pid(), number), 0);
        for (pid_t child = 0; children >> child;) ::kill(child, number);
    };
    signal_all(SIGSTOP);

    const auto start = steady_clock::now();
    std::vector<Started<Placed>> places;
    for (std::size_t i = 0; i < 30; ++i) places.push_back(begin((*this)[i % 2].place(small_sandbox(), {}, in(60s))));
    const auto pinging = begin((*this)[0].ping(in(2s)));
    ASSERT_TRUE(run_until([&] {
        return pinging->has_value() && std::ranges::all_of(places, [](const auto& one) { return one->has_value(); });
    }));
    EXPECT_LT(steady_clock::now() - start, kFiveSecondsUnderLoad);
    EXPECT_EQ(pinging->value().error().code(), Code::unavailable);
    for (const auto& one : places) EXPECT_EQ(one->value().error().code(), Code::unavailable);

    signal_all(SIGCONT);
    const auto back = steady_clock::now();
    ASSERT_TRUE(run_until([&] { return !error((*this)[0].place(small_sandbox(), {}, in(10s))); }));
    EXPECT_LT(steady_clock::now() - back, kFiveSecondsUnderLoad);
    check_the_books();
}

}  // namespace
}  // namespace sandbox::store
