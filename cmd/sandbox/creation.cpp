#include "creation.hpp"

#include <fmt/format.h>

#include <sandbox/client/refusal.hpp>
#include <sandbox/domain/shortage.hpp>

#include "operations.hpp"
#include "text.hpp"

namespace sandbox::cli {
namespace {

/// A refusal says how many nodes are too full, not of what.
Task<void> name_shortage(client::Client& client, client::Failure& failure, const domain::SandboxSpec& spec) {
    auto nodes = co_await client.nodes(in(kRequestTime));
    const auto what = nodes ? domain::short_resources(*nodes, spec.resources) : std::string();
    if (what.empty()) co_return;
    const auto& refused = failure.error;
    failure.error = Error(refused.code(), fmt::format("{}. Short is {}", refused.message(), what))
                        .with_details(std::string(refused.details()));
}

}  // namespace

Task<client::Answer<api::SandboxAndOperation>> request_sandbox(Session& session, client::Client& client,
                                                               const domain::SandboxSpec& spec) {
    auto request = client.create(spec, session.new_idempotency_key(), 0, in(kRequestTime));
    auto describe = [](const api::SandboxAndOperation& created) { return pending_create(created.operation); };
    auto created = co_await start<client::Answer<api::SandboxAndOperation>>(session, std::move(request), describe);
    if (!created && client::asked_for_too_much(created.error())) co_await name_shortage(client, created.error(), spec);
    co_return created;
}

Task<client::Answer<api::SandboxAndOperation>> wait_until_created(Session& session, client::Client& client,
                                                                  api::SandboxAndOperation requested,
                                                                  std::chrono::seconds limit) {
    auto operation =
        co_await wait_for(session, client, requested.operation, limit, "creating " + requested.sandbox.spec.image);
    if (!operation) co_return pass_on(operation);
    auto sandbox = co_await client.sandbox(requested.sandbox.id, in(kRequestTime));
    if (!sandbox) co_return pass_on(sandbox);
    co_return api::SandboxAndOperation{.sandbox = std::move(*sandbox), .operation = std::move(*operation)};
}

std::string chosen_tenant(const Session& session, const std::optional<std::string>& option) {
    if (option) return *option;
    return session.environment()("SANDBOX_TENANT").value_or("default");
}

std::string summary(const domain::Sandbox& sandbox, Timestamp now) {
    return fmt::format("{} as {} on node {}, risk {}, expires {}", to_text(sandbox.state), to_text(sandbox.isolation),
                       sandbox.node_id.text(), sandbox.risk_score, from_now(sandbox.expires_at, now));
}

std::optional<client::Failure> create_failure(const api::SandboxAndOperation& created, std::chrono::seconds limit) {
    const auto& operation = created.operation;
    if (!domain::has_ended(operation.state))
        return not_ended(operation, "creating sandbox " + created.sandbox.id.text(), limit).error();
    if (operation.state == domain::OperationState::succeeded) return std::nullopt;
    return failure(
               "operation_failed",
               fmt::format("sandbox {} could not be created: {}", created.sandbox.id.text(),
                           operation.error.value_or(created.sandbox.failure.value_or("the server gives no reason"))))
        .error();
}

}  // namespace sandbox::cli
