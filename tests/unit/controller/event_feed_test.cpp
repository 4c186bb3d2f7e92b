#include <controller/event_feed.hpp>
#include <support/run_task.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/async/signal.hpp>

namespace sandbox::sandboxd {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Numbers = std::vector<std::uint64_t>;

/// An event log as a store keeps it.
class Log {
public:
    void publish(std::size_t count, const std::string& tenant = "acme") {
        for (std::size_t i = 0; i < count; ++i) {
            store::LoggedEvent logged;
            logged.sequence = ++last_;
            logged.event.event_type = "sandbox.scheduled";
            logged.event.tenant = tenant;
            events_.push_back(std::move(logged));
        }
        grew_.notify_all();
    }

    [[nodiscard]] EventFeed::ReadLog reader() {
        return [this](store::EventFilter filter, Deadline deadline) { return read(std::move(filter), deadline); };
    }

    [[nodiscard]] std::uint64_t last() const { return last_; }

    bool away = false;
    std::size_t reads = 0;

private:
    Task<Result<store::EventPage>> read(store::EventFilter filter, Deadline deadline) {
        ++reads;
        if (away) co_return fail(Code::unavailable, "the store does not answer");
        for (bool in_time = true;;) {
            store::EventPage page{.events = {}, .next = filter.after};
            for (auto at = filter.after > kFirst ? filter.after - kFirst : 0; at < events_.size(); ++at) {
                if (page.events.size() == filter.limit) break;
                const auto& logged = events_[at];
                page.next = logged.sequence;
                if (!filter.tenant || *filter.tenant == logged.event.tenant) page.events.push_back(logged);
            }
            if (!page.events.empty() || !in_time) co_return page;
            filter.after = page.next;
            in_time = co_await grew_.wait(deadline);
        }
    }

    std::vector<store::LoggedEvent> events_;
    static constexpr std::uint64_t kFirst = 1000;  // the number before the first
    std::uint64_t last_ = kFirst;
    async::Signal grew_;
};

/// Who reads a stream.
class Reader final : public http::BodyWriter {
public:
    Task<Result<void>> write(std::string_view bytes) override {
        text += bytes;
        while (slow) co_await released_.wait(in(1h));
        co_return Result<void>{};
    }
    void release() {
        slow = false;
        released_.notify_all();
    }
    void leave() { cancel.emit(asio::cancellation_type::terminal); }

    /// The numbers of the events so far.
    [[nodiscard]] Numbers numbers() const {
        Numbers found;
        for (auto at = text.find("id: "); at != std::string::npos; at = text.find("id: ", at + 1))
            found.push_back(std::stoull(text.substr(at + 4, 20)));
        return found;
    }

    std::string text;
    bool slow = false;
    bool ended = false;
    asio::cancellation_signal cancel;

private:
    async::Signal released_;
};

class EventFeedTest : public testing::Test {
protected:
    ~EventFeedTest() override {
        for (auto& reader : readers_) reader->leave();
        tasks.cancel();
        test::run(io, join());
        settle();
    }

    /// Begins to follow as the controller does it: with a page that has been read.
    Reader& follow(std::uint64_t after = 0, std::optional<std::string> tenant = {}, bool slow = false) {
        auto& reader = *readers_.emplace_back(std::make_unique<Reader>());
        reader.slow = slow;
        auto begin = [](EventFeed& to, EventFeed::ReadLog read, Reader& into, std::uint64_t from,
                        std::optional<std::string> whose) -> Task<void> {
            auto first = co_await read({.after = from, .tenant = whose, .limit = EventFeed::kPage}, in({}));
            co_await to.follow(into, std::move(whose), std::move(*first));
        };
        asio::co_spawn(io, begin(feed, log.reader(), reader, after, std::move(tenant)),
                       asio::bind_cancellation_slot(reader.cancel.slot(),
                                                    [&reader](const std::exception_ptr&) { reader.ended = true; }));
        settle();
        return reader;
    }
    void settle() { test::settle(io); }
    bool eventually(const std::function<bool()>& condition) {
        io.restart();
        for (const auto until = in(10s); !condition(); io.run_one_for(10ms))
            if (std::chrono::steady_clock::now() >= until) return false;
        return true;
    }
    Task<void> join() { co_await tasks.join(in(10s)); }
    [[nodiscard]] Numbers up_to_now(std::uint64_t after = 1000) const {
        Numbers all;
        for (auto n = after + 1; n <= log.last(); ++n) all.push_back(n);
        return all;
    }

    asio::io_context io{1};
    async::TaskGroup tasks{io.get_executor()};
    Log log;
    EventFeed feed{log.reader(), tasks};

private:
    std::vector<std::unique_ptr<Reader>> readers_;
};

TEST_F(EventFeedTest, gives_what_there_is_and_then_what_comes_in_order_and_once) {
    log.publish(3);
    auto& reader = follow();
    EXPECT_EQ(reader.numbers(), up_to_now());

    for (int i = 0; i < 5; ++i) {
        log.publish(2);
        settle();
    }

    EXPECT_EQ(reader.numbers(), up_to_now());
    EXPECT_THAT(reader.text, HasSubstr("id: 1001\ndata: {"));
    EXPECT_THAT(reader.text, HasSubstr("\"sequence\":1001"));
}

TEST_F(EventFeedTest, goes_on_after_the_number_that_was_named) {
    log.publish(3);
    auto& reader = follow(1002);
    log.publish(1);
    settle();

    EXPECT_EQ(reader.numbers(), (Numbers{1003, 1004}));
}

TEST_F(EventFeedTest, gives_a_tenants_follower_that_tenants_events) {
    log.publish(1, "other");
    log.publish(1, "acme");
    auto& acme = follow(0, "acme");
    auto& nobody = follow(0, "nobody");
    log.publish(1, "other");
    log.publish(1, "acme");
    settle();

    EXPECT_EQ(acme.numbers(), (Numbers{1002, 1004}));
    EXPECT_EQ(nobody.numbers(), Numbers{});
}

// A hundred who follow are told of fifty events by one reader of the log.
TEST_F(EventFeedTest, reads_the_log_once_for_all_followers) {
    log.publish(3);
    std::vector<Reader*> readers;
    for (int i = 0; i < 100; ++i) readers.push_back(&follow());
    const auto before = log.reads;

    for (int i = 0; i < 50; ++i) {
        log.publish(1);
        settle();
    }

    for (const auto* reader : readers) EXPECT_EQ(reader->numbers(), up_to_now());
    EXPECT_LE(log.reads - before, 51U);
}

// Who does not read holds up nobody, and misses nothing once he reads again.
TEST_F(EventFeedTest, waits_for_a_slow_reader_without_the_others) {
    auto& slow = follow(0, {}, true);
    auto& quick = follow();
    for (int i = 0; i < 15; ++i) {
        log.publish(400);
        settle();
    }
    EXPECT_EQ(quick.numbers(), up_to_now());
    EXPECT_LT(slow.numbers().size(), 1000U);

    slow.release();
    settle();
    log.publish(1);
    settle();

    EXPECT_EQ(slow.numbers(), up_to_now());
}

TEST_F(EventFeedTest, gives_a_long_log_to_who_comes_late) {
    auto& first = follow();
    log.publish(5000);
    settle();
    auto& late = follow();

    EXPECT_EQ(first.numbers(), up_to_now());
    EXPECT_EQ(late.numbers(), up_to_now());
}

// A number that there is not yet is a place to wait at, for the one who named it alone.
TEST_F(EventFeedTest, a_number_beyond_the_log_takes_nothing_from_others) {
    auto& beyond = follow(5000);
    log.publish(2);
    auto& reader = follow();
    log.publish(2);
    settle();
    EXPECT_EQ(reader.numbers(), up_to_now());
    log.publish(1);
    settle();

    EXPECT_EQ(reader.numbers(), up_to_now());
    EXPECT_EQ(beyond.numbers(), Numbers{});
}

TEST_F(EventFeedTest, goes_on_when_the_store_is_back) {
    auto& reader = follow();
    log.publish(1);
    settle();
    log.away = true;
    log.publish(1);
    settle();
    log.away = false;
    log.publish(1);

    EXPECT_TRUE(eventually([&] { return reader.numbers() == up_to_now(); }));
    EXPECT_FALSE(reader.ended);
}

TEST_F(EventFeedTest, ends_every_stream_at_the_stop) {
    auto& one = follow();
    auto& two = follow(0, "acme");
    EXPECT_EQ(feed.followers(), 2U);

    feed.stop();
    settle();

    EXPECT_TRUE(one.ended && two.ended);
    EXPECT_EQ(feed.followers(), 0U);
}

TEST_F(EventFeedTest, does_not_read_the_log_when_nobody_follows) {
    auto& reader = follow();
    reader.leave();
    settle();
    EXPECT_TRUE(reader.ended);
    EXPECT_EQ(feed.followers(), 0U);
    log.publish(1);
    settle();
    const auto reads = log.reads;

    log.publish(10);
    settle();

    EXPECT_EQ(log.reads, reads);
    EXPECT_EQ(tasks.running(), 0U);
}

// So that both sides notice when the other is gone, and proxies keep the connection.
TEST_F(EventFeedTest, gives_a_sign_of_life_when_nothing_happens) {
    EventFeed lively(log.reader(), tasks, 20ms);
    Reader reader;
    asio::co_spawn(io, lively.follow(reader, {}, {}), [&](const std::exception_ptr&) { reader.ended = true; });

    EXPECT_TRUE(eventually([&] { return reader.text.ends_with("\n\n:\n\n:\n\n"); }));

    lively.stop();
    EXPECT_TRUE(eventually([&] { return reader.ended; }));
}

}  // namespace
}  // namespace sandbox::sandboxd
