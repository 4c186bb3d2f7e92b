#pragma once

#include <chrono>
#include <string>

#include <sandbox/client/client.hpp>
#include <sandbox/domain/spec.hpp>

#include "session.hpp"

namespace sandbox::cli {

/// Asks for a sandbox. Comes back as soon as the server has taken the request.
Task<client::Answer<api::SandboxAndOperation>> request_sandbox(Session& session, client::Client& client,
                                                               const domain::SandboxSpec& spec);

/// Waits for a requested sandbox's create operation, and reads the sandbox again. After `limit` without an end both
/// come back as they are.
Task<client::Answer<api::SandboxAndOperation>> wait_until_created(Session& session, client::Client& client,
                                                                  api::SandboxAndOperation requested,
                                                                  std::chrono::seconds limit);

/// SANDBOX_TENANT's or the option's tenant; "default" when there is neither.
[[nodiscard]] std::string chosen_tenant(const Session& session, const std::optional<std::string>& option);

/// "running as container on node 0199…, expires in 59 min": what became of a create.
[[nodiscard]] std::string summary(const domain::Sandbox& sandbox, Timestamp now);

/// The one failure of a create whose operation has ended badly or not at all; nullopt when it has succeeded.
[[nodiscard]] std::optional<client::Failure> create_failure(const api::SandboxAndOperation& created,
                                                            std::chrono::seconds limit);

}  // namespace sandbox::cli
