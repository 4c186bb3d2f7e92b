#include "execution.hpp"

#include <fmt/format.h>

#include "operations.hpp"

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

/// Up to 64 execs of a sandbox run at once; the next stands in line.
constexpr auto kInLine = 600s;
/// A big standard input on a slow line.
constexpr auto kUploadTime = 300s;

}  // namespace

Task<client::Answer<domain::Operation>> request_exec(Session& session, client::Client& client, domain::SandboxId id,
                                                     const domain::Command& command) {
    const auto time = command.stdin_bytes ? kUploadTime : kRequestTime;
    auto request = client.exec(id, command, session.new_idempotency_key(), 0, in(time));
    auto answer = co_await start<client::Answer<domain::Operation>>(session, std::move(request), pending_exec);
    if (!answer && answer.error().status == 413)
        co_return failure(answer.error().code,
                          fmt::format("{} (the command with its standard input is larger than the server takes: "
                                      "server.exec_body_limit_bytes)",
                                      answer.error().error.message()));
    co_return answer;
}

Task<client::Answer<domain::Operation>> wait_for_exec(Session& session, client::Client& client,
                                                      domain::Operation operation, std::int64_t timeout_seconds) {
    const auto limit = std::chrono::seconds(timeout_seconds) + kInLine;
    auto ended = co_await wait_for(session, client, std::move(operation), limit, "exec");
    if (ended && !domain::has_ended(ended->state))
        co_return not_ended(*ended, fmt::format("exec {}", ended->id.text()), limit);
    co_return ended;
}

}  // namespace sandbox::cli
