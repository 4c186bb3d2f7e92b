#include "steps.hpp"

#include <functional>
#include <utility>

#include <fmt/format.h>

#include <sandbox/client/refusal.hpp>
#include <sandbox/domain/shortage.hpp>

namespace sandbox::mcp {
namespace {

using namespace std::chrono_literals;

/// A big standard input on a slow line.
constexpr auto kUploadTime = 300s;

/// Asks a second time when the connection was lost: whether the server has heard the first is unknown, and the
/// idempotency key that both carry makes sure that it is done once.
template <class T>
Task<client::Answer<T>> twice_if_lost(std::function<Task<client::Answer<T>>()> ask) {
    auto answer = co_await ask();
    if (!answer && answer.error().status == 0 && answer.error().error.code() == Code::unavailable)
        answer = co_await ask();
    co_return answer;
}

}  // namespace

std::string phase_of(const std::string& what, const domain::Operation& operation) {
    return fmt::format("{}: {}", what, operation.phase.value_or(std::string(domain::to_text(operation.state))));
}

Task<ToolResult> create_refused(Bridge& bridge, client::Failure failure, domain::Resources asked) {
    std::string short_of;
    if (client::asked_for_too_much(failure)) {
        auto nodes = co_await bridge.client().nodes(in(kRequestTime));
        if (nodes) short_of = domain::short_resources(*nodes, asked);
    }
    co_return refusal(explain(failure, "create the sandbox", Sought::nothing, short_of));
}

Task<client::Answer<domain::Operation>> wait_for(Bridge& bridge, Call& call, domain::Operation operation,
                                                 std::chrono::seconds limit, std::string what) {
    if (domain::has_ended(operation.state) || limit <= 0s) co_return operation;
    call.say(phase_of(what, operation));
    call.waits_for(Call::Waited{.id = operation.id, .what = std::move(what)});
    auto ended = co_await bridge.client().wait(operation.id, in(limit));
    call.throw_if_cancelled();
    call.waits_for(std::nullopt);
    co_return ended;
}

Task<client::Answer<api::SandboxAndOperation>> create_sandbox(Bridge& bridge, Call& call, domain::SandboxSpec spec,
                                                              bool wait) {
    auto& client = bridge.client();
    call.say("asking for a sandbox");
    auto ask = [&, key = bridge.new_idempotency_key()] { return client.create(spec, key, 0, in(kRequestTime)); };
    auto note = [&call](const api::SandboxAndOperation& created) { call.owns(created.sandbox.id); };
    auto created = co_await call.start(twice_if_lost<api::SandboxAndOperation>(ask), note);
    if (!created) co_return created;
    bridge.saw(created->sandbox);
    if (!wait) co_return created;

    auto operation = co_await wait_for(bridge, call, created->operation, kLifecycleTime, "creating the sandbox");
    // The server is away for long: what is known of it still names it.
    if (!operation) co_return created;
    created->operation = std::move(*operation);
    auto sandbox = co_await client.sandbox(created->sandbox.id, in(kRequestTime));
    call.throw_if_cancelled();
    if (sandbox) created->sandbox = std::move(*sandbox);
    co_return created;
}

Task<client::Answer<domain::Operation>> run_command(Bridge& bridge, Call& call, domain::SandboxId sandbox,
                                                    domain::Command command, bool wait) {
    call.say("asking for the command");
    const auto time = command.stdin_bytes ? kUploadTime : kRequestTime;
    auto ask = [&, key = bridge.new_idempotency_key()] {
        return bridge.client().exec(sandbox, command, key, 0, in(time));
    };
    auto note = [&call](const domain::Operation& started) { call.owns(started.id); };
    auto operation = co_await call.start(twice_if_lost<domain::Operation>(ask), note);
    if (!operation || !wait) {
        call.disown();
        co_return operation;
    }
    const auto started = *operation;
    const auto limit = std::chrono::seconds(command.timeout_seconds) + kInLine;
    auto ended = co_await wait_for(bridge, call, std::move(*operation), limit, "running the command");
    call.disown();
    // The server is away for long; the command goes on there, and its id is known.
    if (!ended) co_return started;
    co_return ended;
}

}  // namespace sandbox::mcp
