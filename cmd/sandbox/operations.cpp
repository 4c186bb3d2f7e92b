#include "operations.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/text.hpp>

#include "live_line.hpp"
#include "report.hpp"

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

/// On a terminal the phase is shown, so the rounds are short; elsewhere one request waits as long as it may.
constexpr int kRoundOnTerminal = 1;
constexpr int kRoundElsewhere = 30;

/// The stream as the command wrote it: the exact bytes where the text could not hold them.
std::string bytes_of(const std::string& text, const std::optional<std::string>& base64) {
    if (base64)
        if (auto bytes = base64_decode(*base64)) return std::move(*bytes);
    return text;
}

void show_streams(Output& output, const domain::Output& result) {
    output.out(bytes_of(result.stdout_text, result.stdout_base64));
    const auto errors = bytes_of(result.stderr_text, result.stderr_base64);
    output.err(errors);
    const bool says_more = result.truncated || result.timed_out || result.oom_killed;
    if (says_more && !errors.empty() && errors.back() != '\n' && !output.quiet()) output.err("\n");
    if (result.truncated)
        output.closing_note(
            fmt::format("the output was cut in its middle; the command wrote {} bytes to standard "
                        "output and {} to standard error",
                        result.stdout_bytes, result.stderr_bytes));
    if (result.oom_killed) output.closing_note("the sandbox's memory limit killed a process of this command");
    if (result.timed_out)
        output.closing_note(fmt::format("the command was stopped at its time limit, after {:.1f} s",
                                        static_cast<double>(result.duration_ms) / 1000));
}

/// Whether the operation's error says more than the exit status does.
bool says_more_than_status(const domain::Operation& operation) {
    if (!operation.error || operation.output->timed_out) return false;
    return *operation.error != fmt::format("command exited with status {}", operation.output->exit_code);
}

/// The operation's error, with what it means where that is one word.
std::string reason(const domain::Operation& operation) {
    const auto error = operation.error.value_or("the server gives no reason");
    if (error != "interrupted") return error;
    return "interrupted: the worker restarted while the command ran. It is not run again by itself; look at what it "
           "left before you repeat it";
}

/// Our wait has failed, not the operation: whoever reads this must find it again. Where it is unknown, nothing goes on.
client::Failure wait_failed(client::Failure failure, const domain::Operation& operation) {
    if (failure.status == 404) return failure;
    const auto& error = failure.error;
    failure.error = Error(error.code(), fmt::format("{}; {}", error.message(), goes_on(pending_any(operation))))
                        .with_details(std::string(error.details()));
    return failure;
}

}  // namespace

Pending pending_create(const domain::Operation& operation) {
    return {.operation = operation.id,
            .what = "creating sandbox " + operation.sandbox_id.text(),
            .cancel = "sandbox delete " + operation.sandbox_id.text()};
}

Pending pending_exec(const domain::Operation& operation) {
    return {.operation = operation.id,
            .what = "exec " + operation.id.text(),
            .cancel = "sandbox cancel " + operation.id.text()};
}

Pending pending_delete(const domain::Operation& operation) {
    return {.operation = operation.id, .what = "deleting sandbox " + operation.sandbox_id.text(), .cancel = ""};
}

Pending pending_any(const domain::Operation& operation) {
    switch (operation.kind) {
        case domain::OperationKind::create:
            return pending_create(operation);
        case domain::OperationKind::destroy:
            return pending_delete(operation);
        case domain::OperationKind::exec:
        case domain::OperationKind::expose:
        case domain::OperationKind::unexpose:
            break;
    }
    return pending_exec(operation);
}

Task<client::Answer<domain::Operation>> wait_for(Session& session, client::Client& client, domain::Operation operation,
                                                 std::chrono::seconds limit, std::string what) {
    if (!domain::has_ended(operation.state) && limit > 0s) {
        const bool live = session.output().live();
        LiveLine line(session.executor(), live, what + ": " + operation.phase.value_or("queued"));
        auto show_phase = [&](const domain::Operation& now) {
            line.say(what + ": " + now.phase.value_or(std::string(to_text(now.state))));
        };
        auto answer = co_await client.wait(
            operation.id, in(limit),
            client::Waiting{.round_seconds = live ? kRoundOnTerminal : kRoundElsewhere, .on_progress = show_phase});
        if (!answer) {
            session.stop_if_interrupted();
            co_return std::unexpected(wait_failed(std::move(answer.error()), operation));
        }
        operation = std::move(*answer);
    }
    session.ended(operation.id);
    co_return operation;
}

std::unexpected<client::Failure> not_ended(const domain::Operation& operation, std::string_view what,
                                           std::chrono::seconds limit) {
    return failure("deadline_exceeded",
                   fmt::format("{} has not ended within {} s and goes on. Follow it with `sandbox wait {}`", what,
                               limit.count(), operation.id.text()));
}

std::optional<int> exit_status(const domain::Operation& operation) {
    if (operation.state == domain::OperationState::succeeded) return kDone;
    if (!operation.output) return std::nullopt;
    if (operation.output->timed_out) return 124;
    const auto code = operation.output->exit_code;
    if (code < 1 || code > 255) return std::nullopt;
    return static_cast<int>(code);
}

std::unexpected<client::Failure> operation_failed(const domain::Operation& operation) {
    return failure("operation_failed", fmt::format("{} failed: {}", to_text(operation.kind), reason(operation)));
}

Outcome show_result(Output& output, const domain::Operation& operation) {
    const auto status = exit_status(operation);
    if (output.json()) {
        output.document(operation);
    } else if (operation.output) {
        show_streams(output, *operation.output);
        if (status && *status != kDone && says_more_than_status(operation))
            output.err("sandbox: " + printable(reason(operation)) + "\n");
    } else if (status) {
        output.closing_note(
            fmt::format("{} of sandbox {} is done", to_text(operation.kind), operation.sandbox_id.text()));
    }
    if (!status) return operation_failed(operation);
    return *status;
}

}  // namespace sandbox::cli
