#include <controller/publisher.hpp>
#include <support/run_task.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/async/task_group.hpp>
#include <sandbox/store/memory_store.hpp>

namespace sandbox::sandboxd {
namespace {

using namespace std::chrono_literals;

/// A bus that can be down, or too slow for many events at once.
class Bus final : public events::EventBus {
public:
    [[nodiscard]] std::string_view kind() const noexcept override { return "test"; }
    Task<Result<void>> publish(std::span<const domain::Event> events, Deadline) override {
        ++calls;
        if (down) co_return fail(Code::unavailable, "the bus is down");
        for (std::size_t i = 0; i < std::min(events.size(), most); ++i) taken.push_back(events[i].event_id);
        if (events.size() > most) co_return fail(Code::unavailable, "it took too long");
        co_return Result<void>{};
    }
    bool down = false;
    std::size_t most = 1000;
    std::size_t calls = 0;
    std::vector<domain::EventId> taken;
};

class PublisherTest : public testing::Test {
protected:
    ~PublisherTest() override {
        tasks.cancel();
        auto join = [](async::TaskGroup& group) -> Task<void> { co_await group.join(in(10s)); };
        test::run(io, join(tasks));
    }

    /// Events of nodes: the shortest way to many.
    void make_events(int count) {
        for (int i = 0; i < count; ++i) {
            domain::Node node;
            node.id.uuid.bytes[0] = static_cast<std::uint8_t>(++made_);
            node.id.uuid.bytes[1] = static_cast<std::uint8_t>(made_ >> 8);
            node.name = "n";
            ASSERT_TRUE(test::run(io, store->register_node(node, in(5s))));
        }
    }
    std::vector<domain::EventId> logged() {
        std::vector<domain::EventId> ids;
        const auto page = test::run(io, store->events({}, in({})));
        for (const auto& event : page->events) ids.push_back(event.event.event_id);
        return ids;
    }
    bool eventually(const std::function<bool()>& condition) {
        io.restart();
        for (const auto until = in(20s); !condition(); io.run_one_for(10ms))
            if (std::chrono::steady_clock::now() >= until) return false;
        return true;
    }

    asio::io_context io{1};
    async::TaskGroup tasks{io.get_executor()};
    async::SystemClock clock;
    SystemRandom random;
    std::unique_ptr<store::Store> store = store::create_memory_store({}, clock, random);
    Bus bus;
    Metrics metrics;
    Publisher publisher{*store, bus, metrics};

private:
    unsigned made_ = 0;
};

TEST_F(PublisherTest, publishes_what_happens_in_its_order) {
    tasks.spawn("publish", publisher.run());
    make_events(600);

    ASSERT_TRUE(eventually([&] { return bus.taken.size() == 600; }));
    test::settle(io);
    EXPECT_EQ(bus.taken, logged());
}

// Events wait while the bus is down, it is not asked all the time, and none is lost.
TEST_F(PublisherTest, keeps_what_a_bus_does_not_accept) {
    bus.down = true;
    tasks.spawn("publish", publisher.run());
    make_events(3);
    ASSERT_TRUE(eventually([&] { return bus.calls == 2; }));
    EXPECT_TRUE(logged().empty());

    bus.down = false;
    ASSERT_TRUE(eventually([&] { return bus.taken.size() == 3; }));
    test::settle(io);
    EXPECT_EQ(bus.taken, logged());
    EXPECT_LE(bus.calls, 4U);
}

// A bus that never gets through with a whole batch in its time would otherwise be stuck for ever.
TEST_F(PublisherTest, asks_a_slow_bus_for_less) {
    bus.most = 20;
    make_events(100);
    tasks.spawn("publish", publisher.run());

    EXPECT_TRUE(eventually([&] { return logged().size() == 100; }));
}

TEST_F(PublisherTest, publishes_the_rest_at_the_end) {
    make_events(600);
    test::run(io, publisher.flush(in(5s)));

    EXPECT_EQ(bus.taken.size(), 600U);
    EXPECT_EQ(bus.taken, logged());
}

TEST_F(PublisherTest, does_not_hold_up_the_end_for_a_bus_that_is_down) {
    bus.down = true;
    make_events(600);
    test::run(io, publisher.flush(in(1h)));

    EXPECT_EQ(bus.calls, 1U);
}

}  // namespace
}  // namespace sandbox::sandboxd
