// Several controllers on one database, without a leader: each promise holds for all of them together.
#include <algorithm>
#include <set>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "controllers.hpp"

namespace sandbox::store {
namespace {

class Together : public Controllers {
protected:
    void SetUp() override {
        for (int i = 0; i < 3; ++i) start();
    }
};

// Fifty creates for five places, by three controllers: exactly five, and the books balance.
TEST_F(Together, never_place_more_than_fits) {
    add_node((*this)[0], 5);
    std::vector<Started<Placed>> places;
    for (std::size_t i = 0; i < 50; ++i) places.push_back(begin((*this)[i % 3].place(small_sandbox(), {}, in(60s))));

    ASSERT_TRUE(
        run_until([&] { return std::ranges::all_of(places, [](const auto& one) { return one->has_value(); }); }));

    int placed = 0;
    for (const auto& one : places) {
        if ((*one)->has_value())
            ++placed;
        else
            EXPECT_EQ((*one)->error().code(), Code::resource_exhausted) << (*one)->error().message();
    }
    EXPECT_EQ(placed, 5);
    EXPECT_EQ(value((*this)[1].nodes(in(10s))).at(0).capacity.running_sandboxes, 5);
}

// A batch of placements takes its keys before any ledger. Otherwise one that comes to a key which another batch holds,
// and that one waiting for the ledger, would wait for each other until PostgreSQL looks for deadlocks, a second later.
TEST_F(Together, place_with_one_key_without_a_deadlock) {
    add_node((*this)[0]);
    std::vector<Started<Placed>> places;
    const auto begin_place = [&](Store& store, MaybeIdempotency once) {
        places.push_back(begin(store.place(small_sandbox(), std::move(once), in(60s))));
    };
    const auto two_wait = [&] { return query("select count(*) from pg_locks where not granted") == "2"; };
    const auto logged = server().log().size();
    // Keys that are being used hold a placement up, so that the next ones are one batch.
    query("begin; insert into sandbox.answers (key, fingerprint, answered_at) values ('key', '', now())");
    query("savepoint key; insert into sandbox.answers (key, fingerprint, answered_at) values ('other', '', now())");
    begin_place((*this)[1], Idempotency{"key", "a"});
    begin_place((*this)[0], Idempotency{"other", "a"});
    ASSERT_TRUE(run_until(two_wait));
    begin_place((*this)[0], {});
    begin_place((*this)[0], Idempotency{"key", "a"});
    test::settle(io_);

    query("rollback to savepoint key");
    ASSERT_TRUE(run_until([&] { return places[1]->has_value() && two_wait(); }));
    query("rollback");
    ASSERT_TRUE(
        run_until([&] { return std::ranges::all_of(places, [](const auto& one) { return one->has_value(); }); }));

    for (const auto& one : places) EXPECT_TRUE(one->value()) << one->value().error().message();
    EXPECT_EQ(places[0]->value()->sandbox.id, places[3]->value()->sandbox.id);
    EXPECT_EQ(server().log().find("deadlock detected", logged), std::string::npos);
}

// What holds one node up is nothing to the others.
TEST_F(Together, place_beside_a_node_that_is_locked) {
    const auto locked = add_node((*this)[0], 0, {{"side", "left"}});
    add_node((*this)[0], 0, {{"side", "right"}});
    const auto begin_place = [&](const char* side) {
        auto spec = small_sandbox();
        spec.placement.required_labels = {{"side", side}};
        return begin((*this)[0].place(spec, {}, in(60s)));
    };
    query("begin; select 1 from sandbox.ledgers where node_id = '" + locked.text() + "' for update");
    const auto held_up = begin_place("left");
    ASSERT_TRUE(run_until([&] { return query("select count(*) from pg_locks where not granted") == "1"; }));

    for (int i = 0; i < 3; ++i) {
        const auto other = begin_place("right");
        ASSERT_TRUE(run_until([&] { return other->has_value(); }));
        EXPECT_TRUE(other->value()) << other->value().error().message();
    }
    EXPECT_FALSE(held_up->has_value());

    query("rollback");
    ASSERT_TRUE(run_until([&] { return held_up->has_value(); }));
    EXPECT_TRUE(held_up->value()) << held_up->value().error().message();
}

// A worker that leaves while the database is giving it work: the next who asks gets it, not whoever comes when the
// lease has run out.
TEST_F(Together, give_again_what_was_taken_for_one_that_left) {
    const auto node = add_node((*this)[0]);
    const auto placed = place((*this)[0]);
    query("begin; select 1 from sandbox.nodes for update");
    asio::cancellation_signal leave;
    bool left = false;
    auto ask = [](Store& store, domain::NodeId id) -> Task<void> { co_await store.lease(id, 8, in(60s)); };
    asio::co_spawn(io_, ask((*this)[0], node),
                   asio::bind_cancellation_slot(leave.slot(), [&left](const std::exception_ptr&) { left = true; }));
    ASSERT_TRUE(run_until([&] { return query("select count(*) from pg_locks where not granted") == "1"; }));
    leave.emit(asio::cancellation_type::terminal);
    query("rollback");
    ASSERT_TRUE(run_until([&] { return left; }));

    const auto given = value((*this)[1].lease(node, 8, in(10s)));

    ASSERT_EQ(given.assignments.size(), 1U);
    EXPECT_EQ(given.assignments[0].operation_id, placed.operation.id);
}

// A freed place is found by a controller that has heard nothing of it.
TEST_F(Together, a_place_that_another_freed_is_found) {
    add_node((*this)[0], 1);
    for (std::size_t i = 0; i < 10; ++i) {
        const auto placed = place((*this)[i % 3]);
        EXPECT_EQ(error((*this)[(i + 2) % 3].place(small_sandbox(), {}, in(10s))), Code::resource_exhausted);
        value((*this)[(i + 1) % 3].destroy(placed.sandbox.id, {}, in(10s)));
    }
}

// Twenty at once with one key, at different controllers: one sandbox, twenty equal answers.
TEST_F(Together, one_key_places_one_sandbox) {
    const auto node = add_node((*this)[0]);
    std::vector<Started<Placed>> places;
    for (std::size_t i = 0; i < 20; ++i)
        places.push_back(begin((*this)[i % 3].place(small_sandbox(), Idempotency{"key", "a"}, in(60s))));

    ASSERT_TRUE(
        run_until([&] { return std::ranges::all_of(places, [](const auto& one) { return one->has_value(); }); }));

    std::set<domain::SandboxId> ids;
    for (const auto& one : places) {
        ASSERT_TRUE(one->value()) << one->value().error().message();
        ids.insert(one->value()->sandbox.id);
    }
    EXPECT_EQ(ids.size(), 1U);
    EXPECT_EQ(value((*this)[2].node(node, in(10s))).capacity.running_sandboxes, 1);
}

// Work, its end and its event reach whoever waits at another controller at once, not by the slow poll.
TEST_F(Together, wake_each_other) {
    const auto node = add_node((*this)[0]);
    // Let each find out that it is not alone.
    const auto settled = in(1500ms);
    run_until([&] { return std::chrono::steady_clock::now() > settled; });
    std::vector<double> work_ms;
    std::vector<double> end_ms;
    const auto since = [](auto start) {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    };
    for (int i = 0; i < 21; ++i) {
        const auto waiting = begin((*this)[0].lease(node, 8, in(60s)));
        const auto pause = in(10ms);
        run_until([&] { return std::chrono::steady_clock::now() > pause; });

        auto start = std::chrono::steady_clock::now();
        const auto placed = place((*this)[1]);
        ASSERT_TRUE(run_until([&] { return waiting->has_value(); }));
        work_ms.push_back(since(start));

        const auto ended = begin((*this)[2].wait_operation(placed.operation.id, in(60s)));
        run_until([&, pause_again = in(10ms)] { return std::chrono::steady_clock::now() > pause_again; });
        start = std::chrono::steady_clock::now();
        value((*this)[0].complete(success_of(waiting->value()->assignments.at(0)), in(10s)));
        ASSERT_TRUE(run_until([&] { return ended->has_value(); }));
        end_ms.push_back(since(start));
        EXPECT_EQ(ended->value()->state, domain::OperationState::succeeded);
    }
    const auto median = [](std::vector<double>& values) {
        std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
        return values[values.size() / 2];
    };
    const auto work = median(work_ms);
    const auto end = median(end_ms);
    RecordProperty("create_to_work_ms", std::to_string(work));
    RecordProperty("report_to_waiter_ms", std::to_string(end));
    // The slow poll would take half a second.
    EXPECT_LT(work, 300);
    EXPECT_LT(end, 300);
}

// A worker that asks at another controller has lost its former call: work goes where it asked last.
TEST_F(Together, give_work_to_the_newest_wait) {
    const auto node = add_node((*this)[0]);
    const auto former = begin((*this)[0].lease(node, 8, in(60s)));
    run_until([&, pause = in(300ms)] { return std::chrono::steady_clock::now() > pause; });
    const auto newer = begin((*this)[1].lease(node, 8, in(60s)));
    run_until([&, pause = in(300ms)] { return std::chrono::steady_clock::now() > pause; });

    place((*this)[2]);

    ASSERT_TRUE(run_until([&] { return newer->has_value(); }));
    EXPECT_EQ(newer->value()->assignments.size(), 1U);
    EXPECT_FALSE(former->has_value());
}

// Sweeping at the same time they share the work: each sandbox expires once.
TEST_F(Together, sweep_without_doing_it_twice) {
    add_node((*this)[0]);
    for (int i = 0; i < 150; ++i) place((*this)[0]);
    query("update sandbox.sandboxes set expires_at = sandbox.now() - interval '1 second'");

    std::size_t expired = 0;
    ASSERT_TRUE(run_until([&] {
        std::vector<Started<Swept>> sweeps;
        for (std::size_t i = 0; i < 3; ++i) sweeps.push_back(begin((*this)[i].sweep(in(60s))));
        run_until([&] { return std::ranges::all_of(sweeps, [](const auto& one) { return one->has_value(); }); });
        for (const auto& one : sweeps) expired += one->value().value().expired;
        return query("select count(*) from sandbox.sandboxes where state <> 'stopped'") == "0";
    }));

    EXPECT_EQ(expired, 150U);
    EXPECT_EQ(query("select count(*) from sandbox.outbox where event_type = 'sandbox.expired'"), "150");
}

// While one controller sweeps, another that was away does not take nodes for lost that it has not heard of.
TEST_F(Together, an_absent_controller_loses_no_node) {
    settings_.node_lost = 4s;
    auto& away = start();
    auto& present = start();
    const auto node = add_node(present);
    const auto id = place(present).sandbox.id;
    for (int i = 0; i < 30; ++i) {
        domain::Heartbeat report;
        report.capacity = value(present.node(node, in(10s))).capacity;
        report.in_flight.emplace();
        value(present.heartbeat(node, report, in(10s)));
        value(present.sweep(in(10s)));
        run_until([&, pause = in(200ms)] { return std::chrono::steady_clock::now() > pause; });
    }

    EXPECT_EQ(value(away.sweep(in(10s))).lost_nodes, 0U);
    EXPECT_EQ(value(away.sandbox(id, in(10s))).state, SandboxState::scheduled);
}

}  // namespace
}  // namespace sandbox::store
