// Whatever happens in whatever order, the books balance.
#include <algorithm>
#include <map>
#include <random>

#include "store_contract.hpp"

namespace sandbox::store::contract {
namespace {

/// A store's life: operators, workers and time do something at random, also what makes no sense.
class StoreLife : public StoreContract {
protected:
    void live(unsigned seed, int steps) {
        dice_.seed(seed);
        nodes_ = {register_node({.max_sandboxes = 6}), register_node({.total = kSmallNode}), register_older_worker()};
        for (int step = 0; step < steps; ++step) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
            do_something();
            check_the_books();
            if (HasFailure()) return;
        }
    }

private:
    static constexpr domain::Resources kSmallNode{
        .cpu_millis = 2000, .memory_mib = 2048, .disk_mib = 8192, .pids = 512};

    std::size_t roll(std::size_t sides) { return std::uniform_int_distribution<std::size_t>(0, sides - 1)(dice_); }
    template <class T>
    T any_of(const std::vector<T>& choice) {
        return choice.empty() ? T{} : choice[roll(choice.size())];
    }
    template <class T>
    bool ok(Task<Result<T>> task) {
        const auto code = error(std::move(task));
        EXPECT_NE(code, Code::internal);
        return !code;
    }

    void do_something() {
        switch (roll(16)) {
            case 0:
            case 1:
            case 2:
                place_one();
                break;
            case 3:
            case 4:
                lease_some();
                break;
            case 5:
            case 6:
            case 7:
                report_one();
                break;
            case 8:
            case 9:
                ok(store().exec(any_of(sandboxes_), command({"true"}), {}, in(5s)));
                break;
            case 10:
                ok(store().destroy(any_of(sandboxes_), {}, in(5s)));
                break;
            case 11:
                cancel_one();
                break;
            case 12:
                beat_somehow();
                break;
            case 13:
                let_time_pass();
                break;
            case 14:
                ok(store().release({any_of(given_).id}, in(5s)));
                break;
            default:
                disturb_a_node();
                break;
        }
    }

    void place_one() {
        auto spec = small_sandbox();
        spec.ttl_seconds = 30 + static_cast<std::int64_t>(roll(300));
        auto placed = test::run(io_, store().place(spec, {}, in(5s)));
        if (placed) sandboxes_.push_back(placed->sandbox.id);
    }

    void lease_some() {
        for (auto& assignment : lease(any_of(nodes_), 1 + roll(4))) given_.push_back(assignment);
    }

    void report_one() {
        const auto assignment = any_of(given_);
        auto report = roll(3) == 0 ? failure_of(assignment, "it broke") : success_of(assignment);
        if (kind_of(assignment.kind) == OperationKind::exec) report = exit_of(assignment, roll(2) == 0 ? 0 : 1);
        if (roll(8) == 0) report.attempt.reset();
        ok(store().complete(report, in(5s)));
    }

    void cancel_one() {
        const auto operations = value(store().operations({}, in(5s))).items;
        if (!operations.empty()) ok(store().cancel(any_of(operations).id, {}, in(5s)));
    }

    void beat_somehow() {
        const auto node = any_of(nodes_);
        auto report = report_of(node);
        report.capacity.available = report.capacity.total;
        report.in_flight.emplace();
        for (const auto& assignment : given_)
            if (roll(2) == 0) report.in_flight->push_back(in_flight(assignment));
        if (roll(2) == 0) {
            report.inventory.emplace();
            for (const auto& id : sandboxes_)
                if (roll(4) != 0) report.inventory->push_back(roll(12) == 0 ? exited(id, 1) : runs(id));
        }
        value(store().heartbeat(node, report, in(5s)));
    }

    void let_time_pass() {
        advance(std::chrono::seconds(1 + roll(40)));
        sweep();
    }

    void disturb_a_node() {
        const auto node = any_of(nodes_);
        switch (roll(4)) {
            case 0:
                restart(node);
                break;
            case 1:
                ok(store().drain(node, roll(2) == 0, {}, in(5s)));
                break;
            case 2:
                live_through(310s, {any_of(nodes_)});
                break;
            default:
                for (const auto& each : nodes_) beat(each);
        }
    }

    void check_the_books() {
        std::map<domain::NodeId, domain::Resources> held;
        std::map<domain::NodeId, std::int64_t> live;
        std::map<domain::SandboxId, SandboxState> now_in;
        for (const auto& sandbox : value(store().sandboxes({}, in(5s))).items) {
            now_in[sandbox.id] = sandbox.state;
            const auto before = states_.find(sandbox.id);
            if (before != states_.end() && before->second != sandbox.state)
                EXPECT_TRUE(came_forward(before->second, sandbox.state))
                    << to_text(before->second) << " to " << to_text(sandbox.state);
            if (!domain::is_live(sandbox.state)) continue;
            ++live[sandbox.node_id];
            held.try_emplace(sandbox.node_id, domain::Resources{0, 0, 0, 0}).first->second += sandbox.spec.resources;
        }
        states_ = now_in;
        const domain::Resources none{0, 0, 0, 0};
        for (const auto& node : value(store().nodes(in(5s)))) {
            const auto left = node.capacity.total - held.try_emplace(node.id, none).first->second;
            EXPECT_EQ(node.capacity.available, left - domain::least(none, left));  // never below none
            EXPECT_EQ(node.capacity.running_sandboxes, live[node.id]);
        }
        for (const auto& operation : value(store().operations({}, in(5s))).items) check(operation);
    }

    void check(const domain::Operation& operation) {
        const bool ended = domain::has_ended(operation.state);
        EXPECT_EQ(ended, !operation.phase);
        EXPECT_EQ(operation.state == OperationState::failed, operation.error.has_value());
        // What has ended stays as it is, and nothing but a teardown goes on in a sandbox that has ended.
        if (const auto before = ended_.find(operation.id); before != ended_.end())
            EXPECT_EQ(before->second, operation.updated_at);
        else if (ended)
            ended_.emplace(operation.id, operation.updated_at);
        if (!ended && operation.kind != OperationKind::destroy)
            EXPECT_TRUE(domain::is_live(states_.at(operation.sandbox_id))) << to_text(operation.kind);
    }

    /// One step of ours may be two of the state machine's: failed, stopping and stopped at once, say.
    static bool came_forward(SandboxState before, SandboxState after) {
        if (before == SandboxState::stopped) return false;
        if (before == SandboxState::failed) return after == SandboxState::stopping || after == SandboxState::stopped;
        return domain::may_move(before, after);
    }

    std::mt19937 dice_;
    std::vector<domain::NodeId> nodes_;
    std::vector<domain::SandboxId> sandboxes_;
    std::vector<domain::Assignment> given_;
    std::map<domain::SandboxId, SandboxState> states_;
    std::map<domain::OperationId, Timestamp> ended_;
};

TEST_P(StoreLife, the_books_balance_after_every_step) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        live(seed, 300);
        if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(, StoreLife, testing::ValuesIn(implementations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sandbox::store::contract
