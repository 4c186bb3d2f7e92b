// Listings, events and what is kept of them.
#include <set>

#include "store_contract.hpp"

namespace sandbox::store::contract {

// Page by page, newest first, everything comes once; what is made meanwhile does not shift the pages.
TEST_P(StoreContract, sandboxes_are_listed_newest_first_in_pages) {
    register_node();
    std::vector<domain::SandboxId> made;
    for (int i = 0; i < 5; ++i) {
        made.insert(made.begin(), place().sandbox.id);
        advance(1ms);
    }

    std::vector<domain::SandboxId> listed;
    SandboxFilter filter;
    filter.limit = 2;
    for (int pages = 1;; ++pages) {
        const auto page = value(store().sandboxes(filter, in(5s)));
        for (const auto& sandbox : page.items) listed.push_back(sandbox.id);
        if (!page.next) {
            EXPECT_EQ(pages, 3);
            break;
        }
        EXPECT_EQ(page.items.size(), 2U);
        filter.after = page.next;
        place();
        advance(1ms);
    }

    EXPECT_EQ(listed, made);
}

// A last page that is just full says that there is no more.
TEST_P(StoreContract, a_full_last_page_has_no_next) {
    register_node();
    place();
    place();
    SandboxFilter filter;
    filter.limit = 2;

    const auto page = value(store().sandboxes(filter, in(5s)));

    EXPECT_EQ(page.items.size(), 2U);
    EXPECT_FALSE(page.next);
}

TEST_P(StoreContract, sandboxes_are_listed_by_tenant_and_state) {
    const auto node = register_node();
    const auto running = running_sandbox();
    const auto scheduled = place().sandbox.id;
    auto spec = small_sandbox();
    spec.tenant = "other";
    place(spec);
    const auto ids = [&](const SandboxFilter& filter) {
        std::set<domain::SandboxId> found;
        for (const auto& sandbox : value(store().sandboxes(filter, in(5s))).items) found.insert(sandbox.id);
        return found;
    };
    SandboxFilter filter;
    EXPECT_EQ(ids(filter).size(), 3U);
    filter.tenant = "acme";
    EXPECT_EQ(ids(filter), (std::set{running, scheduled}));
    filter.states = {SandboxState::running, SandboxState::stopped};
    EXPECT_EQ(ids(filter), (std::set{running}));
    filter.tenant = "nobody";
    EXPECT_TRUE(ids(filter).empty());
    EXPECT_EQ(value(store().nodes(in(5s))).front().id, node);
}

// Operations by sandbox and state, newest first, without what they printed.
TEST_P(StoreContract, operations_are_listed_without_outputs) {
    const auto node = register_node();
    const auto id = running_sandbox();
    running_sandbox();
    advance(1ms);
    const auto ended = exec(id);
    complete(exit_of(lease_one(node), 0, "output"));
    advance(1ms);
    const auto pending = exec(id);
    OperationFilter filter;
    filter.sandbox_id = id;

    const auto all_of_it = value(store().operations(filter, in(5s))).items;
    ASSERT_EQ(all_of_it.size(), 3U);
    EXPECT_EQ(all_of_it[0].id, pending.id);
    EXPECT_EQ(all_of_it[1].id, ended.id);
    EXPECT_EQ(all_of_it[1].output, std::nullopt);
    EXPECT_EQ(all_of_it[2].kind, OperationKind::create);

    filter.states = {OperationState::succeeded};
    filter.limit = 1;
    const auto page = value(store().operations(filter, in(5s)));
    ASSERT_EQ(page.items.size(), 1U);
    EXPECT_EQ(page.items[0].id, ended.id);
    EXPECT_TRUE(page.next);
    EXPECT_EQ(value(store().operations({}, in(5s))).items.size(), 4U);
    filter.sandbox_id = domain::SandboxId{};
    EXPECT_TRUE(value(store().operations(filter, in(5s))).items.empty());
}

// --- events

// Events stay in the outbox until they are published: a bus that is down loses none.
TEST_P(StoreContract, events_stay_until_they_are_published) {
    register_node();
    place();
    const auto before = value(store().unpublished(100, at_once()));
    ASSERT_EQ(before.size(), 2U);
    EXPECT_EQ(before[0].event.event_type, "node.registered");
    EXPECT_EQ(before[1].event.event_type, "sandbox.scheduled");
    EXPECT_EQ(before[1].event.tenant, "acme");
    EXPECT_EQ(before[1].event.attributes.at("state"), "scheduled");
    EXPECT_EQ(before[1].event.attributes.at("isolation"), "container");
    EXPECT_LT(before[0].sequence, before[1].sequence);

    const auto again = value(store().unpublished(1, at_once()));
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].sequence, before[0].sequence);
    EXPECT_EQ(again[0].event.event_id, before[0].event.event_id);

    value(store().published(before[0].sequence, in(5s)));
    const auto rest = value(store().unpublished(100, at_once()));
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0].event.event_id, before[1].event.event_id);
}

// The publisher is woken by an event, and whoever follows the log by its publication.
TEST_P(StoreContract, waiting_for_events_ends_with_an_event) {
    register_node();
    events();
    const auto publisher = start(store().unpublished(100, in(60s)));
    const auto seen = value(store().events({}, at_once())).next;
    EventFilter filter;
    filter.after = seen;
    filter.tenant = "acme";
    const auto follower = start(store().events(filter, in(60s)));
    EXPECT_FALSE(publisher.done());

    auto spec = small_sandbox();
    spec.tenant = "other";
    place(spec);
    place();

    const auto first = end_of(publisher);
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->empty());
    EXPECT_FALSE(follower.done());
    events();
    const auto followed = end_of(follower);
    ASSERT_TRUE(followed);
    ASSERT_EQ(followed->events.size(), 1U);
    EXPECT_EQ(followed->events[0].event.tenant, "acme");
    EXPECT_EQ(followed->next, followed->events[0].sequence);
}

// Whoever reads on after a number misses nothing and sees nothing twice.
TEST_P(StoreContract, the_event_log_is_read_in_parts) {
    register_node();
    for (int i = 0; i < 5; ++i) place();
    EXPECT_TRUE(value(store().events({}, at_once())).events.empty());
    events();

    std::vector<std::uint64_t> numbers;
    EventFilter filter;
    filter.limit = 2;
    while (true) {
        const auto page = value(store().events(filter, at_once()));
        if (page.events.empty()) break;
        for (const auto& event : page.events) numbers.push_back(event.sequence);
        filter.after = page.next;
    }

    EXPECT_EQ(numbers.size(), 6U);
    EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), 6U);
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
}

// Whoever follows one tenant does not look at the others' events again and again.
TEST_P(StoreContract, an_event_page_that_is_not_full_goes_on_from_the_logs_end) {
    register_node();
    place();
    events();
    const auto all = value(store().events({}, at_once()));
    ASSERT_EQ(all.events.size(), 2U);
    EventFilter filter;
    filter.tenant = "nobody";

    const auto none = value(store().events(filter, at_once()));
    filter.after = all.next + 1000;
    const auto beyond = value(store().events(filter, at_once()));

    EXPECT_TRUE(none.events.empty());
    EXPECT_EQ(none.next, all.events.back().sequence);
    EXPECT_TRUE(beyond.events.empty());
    EXPECT_EQ(beyond.next, all.next + 1000);
}

// What happens to nodes is told too: when one falls silent, once, and when it is drained.
TEST_P(StoreContract, nodes_have_events) {
    const auto node = register_node();
    value(store().drain(node, true, {}, in(5s)));
    live_through(60s);
    live_through(60s);

    std::vector<std::string> types;
    for (const auto& logged : value(store().unpublished(100, at_once()))) {
        types.push_back(logged.event.event_type);
        EXPECT_EQ(logged.event.node_id, node);
    }
    EXPECT_EQ(types, (std::vector<std::string>{"node.registered", "node.draining", "node.stale"}));
}

// Nor is the time counted in which nobody listened.
TEST_P(StoreContract, nobody_is_silent_while_no_controller_listens) {
    const auto node = register_node();
    live_through(10s, {node});
    advance(100s);
    sweep();
    live_through(30s);
    EXPECT_EQ(value(store().statistics(in(5s))).stale_nodes, 0U);
    live_through(30s);
    EXPECT_EQ(value(store().statistics(in(5s))).stale_nodes, 1U);
}

// --- retention and numbers

// Ended records go after their time, outputs sooner; what is live stays.
TEST_P(StoreContract, old_records_are_deleted) {
    settings.retention = 48h;
    settings.output_retention = 1h;
    settings.max_ttl_seconds = 604800;
    const auto node = register_node();
    auto spec = small_sandbox();
    spec.ttl_seconds = 604800;
    const auto kept = running_sandbox(spec);
    const auto printed = exec(kept);
    complete(exit_of(lease_one(node), 0, "output"));
    const auto gone = running_sandbox();
    const auto deletion = destroy(gone).operation;
    complete(success_of(lease_one(node)));

    advance(1h + 1s);
    sweep();
    EXPECT_EQ(operation(printed.id).output, std::nullopt);
    EXPECT_EQ(operation(printed.id).state, OperationState::succeeded);
    EXPECT_EQ(destroy(gone).operation.id, deletion.id);

    advance(47h);
    beat(node);
    EXPECT_GT(sweep().pruned, 0U);
    EXPECT_EQ(error(store().sandbox(gone, in(5s))), Code::not_found);
    EXPECT_EQ(error(store().operation(deletion.id, in(5s))), Code::not_found);
    EXPECT_EQ(error(store().operation(printed.id, in(5s))), Code::not_found);
    EXPECT_EQ(state(kept), SandboxState::running);
}

// A failed sandbox that is being deleted is live again, however long ago it failed.
TEST_P(StoreContract, a_failed_sandbox_that_is_deleted_is_kept) {
    settings.retention = 1h;
    const auto node = register_node();
    const auto id = place().sandbox.id;
    complete(failure_of(lease_one(node), "no such image"));
    advance(59min);
    beat(node);
    destroy(id);

    advance(2min);
    sweep();

    EXPECT_EQ(state(id), SandboxState::stopping);
    complete(success_of(lease_one(node)));
    EXPECT_EQ(state(id), SandboxState::stopped);
    EXPECT_EQ(available(node), capacity(node).total);
}

TEST_P(StoreContract, retention_of_zero_keeps_all) {
    settings.retention = 0h;
    register_node();
    const auto id = place().sandbox.id;
    destroy(id);

    advance(24h * 365);
    sweep();

    EXPECT_EQ(state(id), SandboxState::stopped);
}

TEST_P(StoreContract, statistics_count_what_there_is) {
    const auto node = register_node();
    running_sandbox();
    place();
    live_through(60s);
    register_node();

    const auto statistics = value(store().statistics(in(5s)));

    EXPECT_EQ(statistics.sandboxes.at(SandboxState::running), 1U);
    EXPECT_EQ(statistics.sandboxes.at(SandboxState::scheduled), 1U);
    EXPECT_EQ(statistics.operations.at(OperationState::succeeded), 1U);
    EXPECT_EQ(statistics.operations.at(OperationState::pending), 1U);
    EXPECT_EQ(statistics.nodes, 2U);
    EXPECT_EQ(statistics.stale_nodes, 1U);
    EXPECT_EQ(statistics.pending_assignments, 1U);
    EXPECT_EQ(statistics.outbox, 6U);
    EXPECT_EQ(statistics.oldest_unpublished, now() - 60s);
    EXPECT_EQ(error(store().ping(in(5s))), std::nullopt);
    EXPECT_EQ(capacity(node).running_sandboxes, 2);
}

}  // namespace sandbox::store::contract
