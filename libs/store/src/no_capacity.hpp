#pragma once

#include <sandbox/aegis/aegis.hpp>
#include <sandbox/base/error.hpp>

namespace sandbox::store {

/// The refusal as an operator reads it, with the gate counts for programs.
[[nodiscard]] Error no_capacity(const aegis::Refusal& refusal);

}  // namespace sandbox::store
