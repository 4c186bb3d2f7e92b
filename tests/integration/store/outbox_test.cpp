// The outbox with several publishers: one at a time, in order, nothing lost.
#include <algorithm>
#include <set>

#include "controllers.hpp"

namespace sandbox::store {
namespace {

class Outbox : public Controllers {
protected:
    /// What a controller's publisher does, into a list in place of a bus; it ends with its store.
    Task<void> publish(Store& store) {
        while (!done_) {
            auto batch = co_await store.unpublished(7, in(200ms));
            if (!batch) {
                if (ended_ == &store) co_return;
                continue;
            }
            for (const auto& logged : *batch) bus_.push_back(logged.event);
            if (batch->empty()) continue;
            if (auto done = co_await store.published(batch->back().sequence, in(10s)); done) publisher_ = &store;
        }
        ++publishers_ended_;
    }

    /// Reads the log from its beginning as it grows, as a client would.
    Task<void> follow(Store& store) {
        EventFilter filter;
        filter.limit = 5;
        while (!done_) {
            auto page = co_await store.events(filter, in(200ms));
            if (!page) continue;
            for (const auto& logged : page->events) followed_.push_back(logged);
            filter.after = page->next;
        }
        ++followers_ended_;
    }

    Task<void> lives(Store& store, int count) {
        for (int i = 0; i < count; ++i) {
            auto placed = co_await store.place(small_sandbox(), {}, in(30s));
            if (!placed) continue;
            auto destroyed = co_await store.destroy(placed->sandbox.id, {}, in(30s));
            if (destroyed) ++lived_;
        }
        ++livers_ended_;
    }

    /// First occurrences only: publishing is at least once.
    static std::vector<std::string> types_of(const domain::SandboxId& id, const std::vector<domain::Event>& events) {
        std::vector<std::string> types;
        std::set<domain::EventId> seen;
        for (const auto& event : events)
            if (event.sandbox_id == id && seen.insert(event.event_id).second)
                types.push_back(event.event_type + " " +
                                (event.attributes.contains("kind") ? event.attributes.at("kind") : ""));
        return types;
    }

    bool done_ = false;
    Store* publisher_ = nullptr;  // the last one to have published
    Store* ended_ = nullptr;
    int lived_ = 0;
    int livers_ended_ = 0;
    int publishers_ended_ = 0;
    int followers_ended_ = 0;
    std::vector<domain::Event> bus_;
    std::vector<LoggedEvent> followed_;
};

TEST_F(Outbox, is_published_in_order_by_one_after_the_other) {
    constexpr int kLives = 60;
    auto& first = start();
    auto& second = start();
    auto& third = start();
    add_node(third);
    for (auto* store : {&first, &second}) asio::co_spawn(io_, publish(*store), asio::detached);
    asio::co_spawn(io_, follow(third), asio::detached);
    auto& fourth = start();
    for (auto* store : {&third, &fourth}) asio::co_spawn(io_, lives(*store, kLives / 2), asio::detached);

    // The publisher goes in the middle of it; the other takes over.
    ASSERT_TRUE(run_until([&] { return bus_.size() > 40 && publisher_ != nullptr; }));
    ended_ = publisher_;
    end(*ended_);
    ASSERT_TRUE(run_until([&] { return livers_ended_ == 2; }));
    ASSERT_TRUE(run_until([&] { return query("select count(*) from sandbox.outbox") == "0"; }));
    const auto logged = std::stoul(query("select count(*) from sandbox.events"));
    ASSERT_TRUE(run_until([&] { return followed_.size() >= logged; }));
    done_ = true;
    ASSERT_TRUE(run_until([&] { return publishers_ended_ == 1 && followers_ended_ == 1; }));
    EXPECT_NE(publisher_, ended_);

    EXPECT_EQ(lived_, kLives);
    // One who reads on after each number has seen everything, once, in order.
    EXPECT_EQ(followed_.size(), logged);
    EXPECT_TRUE(std::ranges::is_sorted(followed_, std::less<>(), &LoggedEvent::sequence));
    std::set<domain::EventId> unique;
    std::vector<domain::Event> log;
    for (const auto& one : followed_) {
        unique.insert(one.event.event_id);
        log.push_back(one.event);
    }
    EXPECT_EQ(unique.size(), logged);
    // Each sandbox's story is told in its order, in the log and on the bus.
    const std::vector<std::string> story{"sandbox.scheduled ", "sandbox.stopping ", "sandbox.operation_failed create",
                                         "sandbox.operation_succeeded delete"};
    std::set<domain::SandboxId> sandboxes;
    for (const auto& event : log)
        if (!domain::is_of_node(event)) sandboxes.insert(event.sandbox_id);
    EXPECT_EQ(sandboxes.size(), static_cast<std::size_t>(kLives));
    for (const auto& id : sandboxes) {
        EXPECT_EQ(types_of(id, log), story);
        EXPECT_EQ(types_of(id, bus_), story);
    }
}

}  // namespace
}  // namespace sandbox::store
