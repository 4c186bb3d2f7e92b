#include <algorithm>

#include "store_contract.hpp"

namespace sandbox::store::contract {

// One decision: the sandbox, its create, the reservation and the event are all there.
TEST_P(StoreContract, placing_writes_sandbox_operation_reservation_and_event) {
    const auto node = register_node();

    const auto [sandbox, operation] = place();

    EXPECT_EQ(sandbox.state, SandboxState::scheduled);
    EXPECT_EQ(sandbox.node_id, node);
    EXPECT_EQ(sandbox.expires_at, now() + 3600s);
    EXPECT_EQ(operation.kind, OperationKind::create);
    EXPECT_EQ(operation.state, OperationState::pending);
    EXPECT_EQ(operation.phase, "queued");
    EXPECT_EQ(available(node), capacity(node).total - small_sandbox().resources);
    EXPECT_EQ(capacity(node).running_sandboxes, 1);
    EXPECT_EQ(event_types(), std::vector<std::string>{"sandbox.scheduled"});
    EXPECT_EQ(lease_one(node).operation_id, operation.id);
}

// Fifty creates for five places: whoever comes first gets one, nobody gets half of one.
TEST_P(StoreContract, never_places_more_than_fits) {
    const auto node = register_node({.max_sandboxes = 5});

    const auto results = all(50, [&] { return store().place(small_sandbox(), {}, in(5s)); });

    EXPECT_EQ(std::ranges::count_if(results, [](const auto& result) { return result.has_value(); }), 5);
    for (const auto& result : results) {
        if (result) continue;
        EXPECT_EQ(result.error().code(), Code::resource_exhausted);
        EXPECT_EQ(rejections(result.error()), (Rejections{{"nodes", 1}, {"sandbox_limit", 1}}));
    }
    auto reserved = small_sandbox().resources;
    for (int i = 1; i < 5; ++i) reserved += small_sandbox().resources;
    EXPECT_EQ(available(node), capacity(node).total - reserved);
    EXPECT_EQ(value(store().sandboxes({}, in(5s))).items.size(), 5U);
}

// Without any node the refusal says so, and leaves nothing behind.
TEST_P(StoreContract, refuses_when_there_is_no_node) {
    const auto result = test::run(io_, store().place(small_sandbox(), {}, in(5s)));

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::resource_exhausted);
    EXPECT_EQ(rejections(result.error()), (Rejections{{"nodes", 0}}));
    EXPECT_TRUE(value(store().sandboxes({}, in(5s))).items.empty());
    EXPECT_TRUE(event_types().empty());
}

// A failed create gives its room back in the step that fails it.
TEST_P(StoreContract, a_failed_create_frees_its_room) {
    const auto node = register_node({.max_sandboxes = 1});
    const auto first = place();
    EXPECT_EQ(error(store().place(small_sandbox(), {}, in(5s))), Code::resource_exhausted);

    complete(failure_of(lease_one(node), "image debian:12 does not exist"));

    EXPECT_EQ(state(first.sandbox.id), SandboxState::failed);
    EXPECT_EQ(sandbox(first.sandbox.id).failure, "image debian:12 does not exist");
    EXPECT_EQ(available(node), capacity(node).total);
    EXPECT_EQ(capacity(node).running_sandboxes, 0);
    place();
}

// What a node uses beside its sandboxes lowers what is available; what its sandboxes use is in the ledger already.
TEST_P(StoreContract, a_heartbeat_counts_only_use_beyond_the_ledger) {
    const auto node = register_node();
    running_sandbox();
    const auto total = capacity(node).total;
    const domain::Resources others{.cpu_millis = 7000, .memory_mib = 5000, .disk_mib = 0, .pids = 0};

    auto report = report_of(node);
    report.in_flight.emplace();
    report.capacity.available = total - small_sandbox().resources - others;
    value(store().heartbeat(node, report, in(5s)));
    EXPECT_EQ(available(node), total - small_sandbox().resources - others);

    place();  // not yet in any report
    EXPECT_EQ(available(node), total - small_sandbox().resources - small_sandbox().resources - others);

    report.capacity.available = total;  // as if its sandboxes used nothing
    report.capacity.running_sandboxes = 40;
    value(store().heartbeat(node, report, in(5s)));
    EXPECT_EQ(available(node), total - small_sandbox().resources - small_sandbox().resources);
    EXPECT_EQ(capacity(node).running_sandboxes, 2);
}

// Nothing new goes to a node that is drained, silent or full, and the refusal counts each.
TEST_P(StoreContract, counts_why_each_node_was_refused) {
    settings.aegis.heartbeat_timeout = 45s;
    const auto silent = register_node();
    live_through(60s);
    const auto drained = register_node();
    register_node({.total = {.cpu_millis = 100, .memory_mib = 64, .disk_mib = 64, .pids = 8}});
    value(store().drain(drained, true, {}, in(5s)));

    const auto result = test::run(io_, store().place(small_sandbox(), {}, in(5s)));

    ASSERT_FALSE(result);
    EXPECT_EQ(rejections(result.error()), (Rejections{{"nodes", 3}, {"stale", 1}, {"draining", 1}, {"resources", 1}}));
    beat(silent);
    EXPECT_EQ(place().sandbox.node_id, silent);
}

// A drained node keeps its sandboxes, and stays drained when its worker registers again.
TEST_P(StoreContract, draining_survives_registration) {
    const auto node = register_node();
    const auto kept = running_sandbox();
    EXPECT_TRUE(value(store().drain(node, true, {}, in(5s))).draining);

    restart(node);

    EXPECT_TRUE(value(store().node(node, in(5s))).draining);
    EXPECT_EQ(state(kept), SandboxState::running);
    EXPECT_EQ(error(store().place(small_sandbox(), {}, in(5s))), Code::resource_exhausted);
    EXPECT_FALSE(value(store().drain(node, false, {}, in(5s))).draining);
    place();
    EXPECT_EQ(error(store().drain({}, true, {}, in(5s))), Code::not_found);
}

// A tenant's sandboxes with the same label spread over the nodes.
TEST_P(StoreContract, anti_affinity_counts_live_sandboxes) {
    register_node();
    register_node();
    auto spec = small_sandbox();
    spec.labels = {{"app", "web"}};
    spec.placement.anti_affinity_keys = {"app"};

    const auto first = place(spec);
    const auto second = place(spec);

    EXPECT_NE(first.sandbox.node_id, second.sandbox.node_id);
    destroy(second.sandbox.id);
    EXPECT_EQ(place(spec).sandbox.node_id, second.sandbox.node_id);
}

}  // namespace sandbox::store::contract
