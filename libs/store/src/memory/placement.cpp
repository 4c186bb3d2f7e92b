#include <algorithm>
#include <chrono>
#include <utility>

#include "memory/state.hpp"
#include "no_capacity.hpp"

namespace sandbox::store::memory {

using domain::SandboxState;

namespace {

bool has_feature(const domain::Node& node, std::string_view feature) {
    return std::ranges::find(node.features, feature) != node.features.end();
}

}  // namespace

Result<Placed> State::place(domain::SandboxSpec spec, Timestamp now) {
    auto outcome = fleet_.place(spec, settings_.aegis, now);
    if (const auto* refusal = std::get_if<aegis::Refusal>(&outcome)) return fail(no_capacity(*refusal));
    auto& decision = std::get<aegis::Decision>(outcome);

    const auto id = domain::SandboxId::make(now, random_);
    auto& record = sandboxes_[id];
    record.sandbox = {.id = id,
                      .spec = std::move(spec),
                      .state = SandboxState::scheduled,
                      .node_id = decision.node,
                      .isolation = decision.tier,
                      .risk_score = decision.risk,
                      .created_at = now,
                      .updated_at = now,
                      .expires_at = now,
                      .failure = std::nullopt,
                      .tunnels = {},
                      .placement_reasons = std::move(decision.reasons),
                      .startup = std::nullopt};
    auto& sandbox = record.sandbox;
    sandbox.expires_at += std::chrono::seconds(sandbox.spec.ttl_seconds);
    sandbox_list_.emplace(now, id.uuid);
    expiries_.emplace(sandbox.expires_at, id);
    hold(record);
    auto& create = enqueue(
        record, domain::CreateWork{.spec = sandbox.spec, .isolation = sandbox.isolation, .tunnels = sandbox.tunnels},
        now);
    tell(record, "sandbox.scheduled", now);
    return Placed{.sandbox = sandbox, .operation = create.operation};
}

Result<domain::Sandbox> State::extend(domain::SandboxId id, std::int64_t ttl_seconds, Timestamp now) {
    const auto found = find(id);
    if (!found) return fail(found.error());
    if (ttl_seconds > settings_.max_ttl_seconds)
        return fail(Code::invalid_argument, "ttl_seconds is more than policy.max_ttl_seconds allows (" +
                                                std::to_string(settings_.max_ttl_seconds) + ")");
    auto& sandbox = (*found)->sandbox;
    if (!domain::is_live(sandbox.state) || sandbox.state == SandboxState::stopping)
        return fail(Code::conflict, "the sandbox is " + std::string(to_text(sandbox.state)) + " and can't be extended");
    const auto until = now + std::chrono::seconds(ttl_seconds);
    if (until > sandbox.expires_at) {
        expiries_.erase({sandbox.expires_at, id});
        sandbox.expires_at = until;
        sandbox.updated_at = now;
        expiries_.emplace(until, id);
    }
    return sandbox;
}

Result<domain::Operation> State::exec(domain::SandboxId id, domain::Command command, Timestamp now) {
    const auto found = find(id);
    if (!found) return fail(found.error());
    auto& record = **found;
    if (record.sandbox.state != SandboxState::running)
        return fail(Code::conflict, "the sandbox is " + std::string(to_text(record.sandbox.state)) + ", not running");
    if (command.stdin_bytes && !has_feature(node_of(record).node, "stdin"))
        return fail(Code::conflict, "the sandbox's node can't give a command standard input: its worker is too old");
    return enqueue(record, domain::ExecWork{.command = std::move(command)}, now).operation;
}

}  // namespace sandbox::store::memory
