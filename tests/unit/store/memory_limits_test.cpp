// What only the memory store has: bounds on what it keeps, since nobody gives it more memory.
#include <support/completion.hpp>
#include <support/run_task.hpp>

#include <gtest/gtest.h>

#include <sandbox/async/clock.hpp>
#include <sandbox/store/memory_store.hpp>

namespace sandbox::store {
namespace {

using namespace std::chrono_literals;

class MemoryLimits : public testing::Test {
protected:
    void open(const Settings& settings) {
        store_ = create_memory_store(settings, clock_, random_);
        domain::Node node;
        node.id = domain::NodeId::make(clock_.now(), random_);
        node.capacity.total = {.cpu_millis = 100'000, .memory_mib = 100'000, .disk_mib = 1'000'000, .pids = 100'000};
        node.capacity.available = node.capacity.total;
        node.supported_tiers = {domain::Tier::container};
        node.features = {"stdin"};
        node.incarnation = domain::Incarnation::make(clock_.now(), random_);
        node_ = node.id;
        value(store_->register_node(node, in(5s)));
    }

    template <class T>
    T value(Task<Result<T>> task) {
        auto result = test::run(std::move(task));
        if (!result) throw std::runtime_error(result.error().message());
        if constexpr (!std::is_void_v<T>) return *std::move(result);
    }
    template <class T>
    bool known(Task<Result<T>> task) {
        return test::run(std::move(task)).has_value();
    }

    Placed place(MaybeIdempotency once = {}) {
        domain::SandboxSpec spec;
        spec.tenant = "acme";
        spec.image = "debian:12";
        return value(store_->place(spec, std::move(once), in(5s)));
    }
    domain::SandboxId stopped_sandbox() {
        const auto id = place().sandbox.id;
        value(store_->destroy(id, {}, in(5s)));
        clock_.advance(1s);
        return id;
    }
    void report(const domain::Assignment& assignment, const std::optional<domain::Output>& output) {
        auto done = test::success_of(assignment);
        done.output = output;
        value(store_->complete(done, in(5s)));
    }
    domain::Assignment leased() { return value(store_->lease(node_, 1, in(0s))).assignments.at(0); }
    /// An exec that printed so many bytes.
    domain::OperationId ended_exec(const domain::SandboxId& id, std::size_t printed) {
        domain::Command command;
        command.argv = {"true"};
        const auto operation = value(store_->exec(id, command, {}, in(5s)));
        domain::Output output;
        output.stdout_text.assign(printed, 'x');
        report(leased(), output);
        clock_.advance(1s);
        return operation.id;
    }

    async::ManualClock clock_{Timestamp(std::chrono::sys_days(std::chrono::year(2026) / 11 / 30))};
    SeededRandom random_{1};
    std::unique_ptr<Store> store_;
    domain::NodeId node_;
};

// An answer that were too large for its worker would come again for ever.
TEST_F(MemoryLimits, a_lease_answer_is_bounded_by_its_commands_input) {
    open({});
    const auto id = place().sandbox.id;
    report(leased(), std::nullopt);
    domain::Command command;
    command.argv = {"cat"};
    command.stdin_bytes = std::string(16U << 20U, 'x');
    for (int i = 0; i < 4; ++i) value(store_->exec(id, command, {}, in(5s)));

    EXPECT_EQ(value(store_->lease(node_, 100, in(0s))).assignments.size(), 3U);
    EXPECT_EQ(value(store_->lease(node_, 100, in(0s))).assignments.size(), 1U);
}

// The oldest ended records make room; what lives is not counted.
TEST_F(MemoryLimits, keeps_so_many_ended_records) {
    open({.max_ended_records = 2});
    const auto live = place().sandbox.id;
    const auto oldest = stopped_sandbox();
    const auto older = stopped_sandbox();
    const auto newest = stopped_sandbox();

    const auto swept = value(store_->sweep(in(5s)));

    EXPECT_GT(swept.pruned, 0U);
    EXPECT_FALSE(known(store_->sandbox(oldest, in(5s))));
    EXPECT_TRUE(known(store_->sandbox(older, in(5s))));
    EXPECT_TRUE(known(store_->sandbox(newest, in(5s))));
    EXPECT_TRUE(known(store_->sandbox(live, in(5s))));
    EXPECT_TRUE(value(store_->destroy(newest, {}, in(5s))).finished);
}

// The oldest keys make room: asked again they are as new.
TEST_F(MemoryLimits, keeps_so_many_idempotency_keys) {
    open({.max_idempotency_keys = 2});
    const auto first = place(Idempotency{"one", ""}).sandbox.id;
    const auto second = place(Idempotency{"two", ""}).sandbox.id;
    place(Idempotency{"three", ""});

    EXPECT_EQ(place(Idempotency{"two", ""}).sandbox.id, second);
    EXPECT_NE(place(Idempotency{"one", ""}).sandbox.id, first);
}

// Outputs beyond the limit go before their time, oldest first; the newest is always there.
TEST_F(MemoryLimits, keeps_so_many_bytes_of_output) {
    open({.max_output_bytes_kept = 100});
    const auto id = place().sandbox.id;
    report(leased(), std::nullopt);
    const auto oldest = ended_exec(id, 60);
    const auto older = ended_exec(id, 60);
    EXPECT_FALSE(value(store_->operation(oldest, in(5s))).output);
    EXPECT_TRUE(value(store_->operation(older, in(5s))).output);

    const auto huge = ended_exec(id, 500);

    EXPECT_FALSE(value(store_->operation(older, in(5s))).output);
    EXPECT_EQ(value(store_->operation(huge, in(5s))).output->stdout_text.size(), 500U);
}

}  // namespace
}  // namespace sandbox::store
