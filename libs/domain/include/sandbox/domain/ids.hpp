#pragma once

#include <sandbox/base/id.hpp>

namespace sandbox::domain {

using SandboxId = Id<struct SandboxTag>;
using OperationId = Id<struct OperationTag>;
using AssignmentId = Id<struct AssignmentTag>;
using NodeId = Id<struct NodeTag>;
using TunnelId = Id<struct TunnelTag>;
using EventId = Id<struct EventTag>;
/// Made at each start of a worker's process.
using Incarnation = Id<struct IncarnationTag>;

}  // namespace sandbox::domain
