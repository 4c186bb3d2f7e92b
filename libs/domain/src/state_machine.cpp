#include <sandbox/domain/sandbox.hpp>

namespace sandbox::domain {

bool is_live(SandboxState state) noexcept {
    return state != SandboxState::stopped && state != SandboxState::failed;
}

bool may_move(SandboxState now, SandboxState next) noexcept {
    if (now == SandboxState::failed) return next == SandboxState::stopping;
    if (now == SandboxState::stopped) return false;
    if (next == SandboxState::failed) return true;
    // The enum's order is the order of life: scheduled, creating, running, stopping, stopped.
    return static_cast<int>(next) > static_cast<int>(now);
}

}  // namespace sandbox::domain
