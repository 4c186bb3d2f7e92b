#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <sandbox/client/client.hpp>

#include "bridge.hpp"
#include "call.hpp"
#include "results.hpp"

namespace sandbox::mcp {

/// What a plain request may take.
inline constexpr std::chrono::seconds kRequestTime{30};
/// How long a create, an exposure or a delete is waited for; they go on when it is over.
inline constexpr std::chrono::seconds kLifecycleTime{300};
/// Up to 64 commands of a sandbox run at once, the next stands in line: what an exec is waited for beyond its own
/// limit.
inline constexpr std::chrono::seconds kInLine{600};

/// "running the command: queued".
[[nodiscard]] std::string phase_of(const std::string& what, const domain::Operation& operation);
/// Waits for an operation's end, at most `limit`; then it comes back as it is. `what` begins the call's phase.
Task<client::Answer<domain::Operation>> wait_for(Bridge& bridge, Call& call, domain::Operation operation,
                                                 std::chrono::seconds limit, std::string what);

/// Asks for a sandbox and, with `wait`, waits until its create has ended. A cancel takes it back. The call still owns
/// it afterwards.
Task<client::Answer<api::SandboxAndOperation>> create_sandbox(Bridge& bridge, Call& call, domain::SandboxSpec spec,
                                                              bool wait);

/// A create that was refused: an error that names the resource that the hosts are short of, if that is why.
Task<ToolResult> create_refused(Bridge& bridge, client::Failure failure, domain::Resources asked);

/// Asks for a command to be run and, with `wait`, waits for its end. A cancel kills it. Afterwards the call owns
/// nothing.
Task<client::Answer<domain::Operation>> run_command(Bridge& bridge, Call& call, domain::SandboxId sandbox,
                                                    domain::Command command, bool wait);

}  // namespace sandbox::mcp
