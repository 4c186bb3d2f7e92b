#include <array>
#include <set>
#include <utility>

#include <sandbox/domain/sandbox.hpp>

#include "examples.hpp"

namespace sandbox::domain {
namespace {

using enum SandboxState;

// The whole table, all 36 pairs: only these moves are allowed.
TEST(StateMachine, moves_forward_only) {
    const std::set<std::pair<SandboxState, SandboxState>> allowed{
        {scheduled, creating}, {scheduled, running}, {scheduled, stopping}, {scheduled, stopped}, {scheduled, failed},
        {creating, running},   {creating, stopping}, {creating, stopped},   {creating, failed},   {running, stopping},
        {running, stopped},    {running, failed},    {stopping, stopped},   {stopping, failed},   {failed, stopping}};

    for (const auto& [now_name, now] : kSandboxStateNames)
        for (const auto& [next_name, next] : kSandboxStateNames)
            EXPECT_EQ(may_move(now, next), allowed.contains({now, next})) << now_name << " to " << next_name;
}

TEST(StateMachine, holds_capacity_from_scheduled_to_stopping) {
    const std::set<SandboxState> live{scheduled, creating, running, stopping};

    for (const auto& [name, state] : kSandboxStateNames) EXPECT_EQ(is_live(state), live.contains(state)) << name;
}

}  // namespace
}  // namespace sandbox::domain
