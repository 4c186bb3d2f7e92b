#pragma once

#include <sandbox/async/signal.hpp>
#include <sandbox/base/error.hpp>

namespace sandbox::runtime::docker {

/// A create under way, as a destroy of the same sandbox sees it. Lives on the io thread, shared by both.
struct Creation {
    bool cancelled = false;
    async::Signal changed;

    void cancel() {
        cancelled = true;
        changed.notify_all();
    }
    /// For the places between two steps.
    [[nodiscard]] Result<void> check() const {
        if (cancelled) return fail(Code::cancelled, "the sandbox was deleted while it was created");
        return {};
    }
};

}  // namespace sandbox::runtime::docker
