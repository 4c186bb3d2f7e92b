#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <sandbox/async/task.hpp>
#include <sandbox/client/client.hpp>

#include "session.hpp"

namespace sandbox::cli {

/// What a plain request may take.
inline constexpr std::chrono::seconds kRequestTime{30};

/// The ids that people typed, shortened or whole. A whole one costs no request.
/// Failures: usage for what is no id or fits several, not_found, and what the lists fail with.
Task<client::Answer<domain::SandboxId>> resolve_sandbox(client::Client& client, std::string given);
Task<client::Answer<domain::OperationId>> resolve_operation(client::Client& client, std::string given);
Task<client::Answer<domain::NodeId>> resolve_node(client::Client& client, std::string given);

/// Every sandbox that the query names, page by page.
Task<client::Answer<std::vector<domain::Sandbox>>> all_sandboxes(client::Client& client, client::ListQuery query);

/// Runs a request that starts an operation so that an interrupt finds out what it started, and notes that as under way.
/// `describe` makes the note from the operation.
template <class Answer, class Describe>
Task<Answer> start(Session& session, Task<Answer> request, Describe describe) {
    session.shield();
    auto answer = co_await std::move(request);
    if (answer) session.begins(describe(*answer));
    session.unshield();
    co_return answer;
}

[[nodiscard]] Pending pending_create(const domain::Operation& operation);
[[nodiscard]] Pending pending_exec(const domain::Operation& operation);
[[nodiscard]] Pending pending_delete(const domain::Operation& operation);
/// For an operation of whatever kind.
[[nodiscard]] Pending pending_any(const domain::Operation& operation);

/// Waits for the end of an operation, with a live line that begins with `what` ("exec"). After `limit` without an end
/// the operation comes back as it is. A wait that fails says that the operation goes on, and how to follow it.
Task<client::Answer<domain::Operation>> wait_for(Session& session, client::Client& client, domain::Operation operation,
                                                 std::chrono::seconds limit, std::string what);

/// The failure of a wait that was not long enough, with the command that goes on waiting.
[[nodiscard]] std::unexpected<client::Failure> not_ended(const domain::Operation& operation, std::string_view what,
                                                         std::chrono::seconds limit);

/// Shows what an ended operation left, an exec's streams byte for byte, and tells the exit status.
[[nodiscard]] Outcome show_result(Output& output, const domain::Operation& operation);
/// The exit status alone: 0; an exec's own; nullopt when it failed without one.
[[nodiscard]] std::optional<int> exit_status(const domain::Operation& operation);
/// The failure of an operation that left no exit status.
[[nodiscard]] std::unexpected<client::Failure> operation_failed(const domain::Operation& operation);

}  // namespace sandbox::cli
