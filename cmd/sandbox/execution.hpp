#pragma once

#include <cstdint>

#include <sandbox/client/client.hpp>

#include "session.hpp"

namespace sandbox::cli {

/// Asks for a command to be run. Comes back as soon as the server has taken the request.
Task<client::Answer<domain::Operation>> request_exec(Session& session, client::Client& client, domain::SandboxId id,
                                                     const domain::Command& command);

/// Waits for its end: for its own time limit and the time that it may have to stand in line. An operation that has not
/// ended by then is a failure.
Task<client::Answer<domain::Operation>> wait_for_exec(Session& session, client::Client& client,
                                                      domain::Operation operation, std::int64_t timeout_seconds);

}  // namespace sandbox::cli
