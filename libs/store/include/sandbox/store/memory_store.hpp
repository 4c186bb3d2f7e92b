#pragma once

#include <memory>

#include <sandbox/async/clock.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/store/store.hpp>

namespace sandbox::store {

/// A store in this process's memory: what it holds goes with the process. For trying it out, tests, and single hosts
/// that can bear to lose it. `clock` and `random` must outlive it.
[[nodiscard]] std::unique_ptr<Store> create_memory_store(Settings settings, async::Clock& clock, Random& random);

}  // namespace sandbox::store
