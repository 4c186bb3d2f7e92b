#pragma once

#include <sandbox/client/client.hpp>

namespace sandbox::client {

/// Whether a create was refused for what it asks for (`no_capacity` by the gates `resources` or `reserve`): which
/// resource that is the answer does not say, but the nodes do (domain::short_resources).
[[nodiscard]] bool asked_for_too_much(const Failure& failure);

}  // namespace sandbox::client
