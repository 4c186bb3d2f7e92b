#include <support/run_task.hpp>
#include <thread>

#include <gtest/gtest.h>

#include <sandbox/async/offload.hpp>

namespace sandbox::async {
namespace {

class OffloadTest : public testing::Test {
protected:
    ~OffloadTest() override { pool_.join(); }
    asio::thread_pool pool_{1};
};

struct NeedsValue {
    explicit NeedsValue(int v) : value(v) {}
    int value;
};

// The function runs on the pool's thread, and what awaited it goes on where it was.
TEST_F(OffloadTest, runs_on_the_pool_and_resumes_here) {
    std::thread::id worker, after;
    auto task = [&]() -> Task<int> {
        int value = co_await offload(pool_, [&worker] {
            worker = std::this_thread::get_id();
            return 42;
        });
        after = std::this_thread::get_id();
        co_return value;
    };

    EXPECT_EQ(test::run(task()), 42);
    EXPECT_NE(worker, std::this_thread::get_id());
    EXPECT_EQ(after, std::this_thread::get_id());
}

TEST_F(OffloadTest, carries_move_only_functions_and_results_without_a_default) {
    auto owned = std::make_unique<int>(7);
    auto result = test::run(offload(pool_, [owned = std::move(owned)] { return NeedsValue(*owned); }));
    EXPECT_EQ(result.value, 7);
}

TEST_F(OffloadTest, throws_here_what_the_function_threw) {
    EXPECT_THROW(test::run(offload(pool_, []() -> int { throw std::out_of_range("made to fail"); })),
                 std::out_of_range);
    EXPECT_THROW(test::run(offload(pool_, [] { throw std::out_of_range("made to fail"); })), std::out_of_range);
}

}  // namespace
}  // namespace sandbox::async
