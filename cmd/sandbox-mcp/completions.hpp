#pragma once

#include <sandbox/async/task.hpp>

#include "bridge.hpp"
#include "reply.hpp"

namespace sandbox::mcp {

/// What an argument of a prompt or a template may become: agents' names, tenants that have been seen, ids that the
/// server has. A server that does not answer adds nothing. Errors: kInvalidParams.
Task<Reply> complete(Bridge& bridge, nlohmann::json params);

}  // namespace sandbox::mcp
