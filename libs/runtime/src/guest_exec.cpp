#include "guest_exec.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>

namespace sandbox::runtime {

namespace {

constexpr int kCannotRun = 126;

void take_output(GuestExec& exec, domain::Output& output) {
    auto out = std::move(exec.out.capture).finish();
    output.stdout_text = std::move(out.text);
    output.stdout_base64 = std::move(out.base64);
    output.stdout_bytes = out.total_bytes;
    auto err = std::move(exec.err.capture).finish();
    output.stderr_text = std::move(err.text);
    output.stderr_base64 = std::move(err.base64);
    output.stderr_bytes = err.total_bytes;
    output.truncated = out.truncated || err.truncated;
    // Past the first half the guest sends the last half at the end only.
    if (exec.cut_off && std::max(out.total_bytes, err.total_bytes) > static_cast<std::int64_t>(exec.keep / 2))
        output.truncated = true;
}

std::optional<std::string> reason(const guest::Exited& exited, const GuestExec& exec, const domain::Command& command) {
    if (exited.timed_out) return fmt::format("the time limit of {} s was reached", command.timeout_seconds);
    if (exec.cancelled) return "cancelled";
    if (exec.input_cut) return "killed, since the connection to the sandbox broke while its input was sent";
    if (guest::exit_code(exited) == 0) return std::nullopt;
    if (exited.oom_killed) return "the sandbox's memory limit was reached";
    if (exited.out_of_processes) return "the sandbox's process limit was reached";
    return std::nullopt;
}

Result<ExecResult> result_of_failure(const guest::Failed& failed) {
    switch (failed.kind) {
        case guest::Failure::internal:
        case guest::Failure::busy:
            return fail(Code::unavailable, "the sandbox could not run the command: " + sentence(failed.what));
        case guest::Failure::not_found:
        case guest::Failure::cannot_run:
        case guest::Failure::bad_directory:
        case guest::Failure::out_of_processes:
            break;
    }
    ExecResult result;
    result.output.exit_code = guest::exit_code(failed).value_or(kCannotRun);
    result.error = sentence(failed.what);
    return result;
}

}  // namespace

std::string sentence(std::string_view text) {
    auto line = to_utf8(text);
    std::ranges::replace_if(
        line, [](char byte) { return static_cast<unsigned char>(byte) < 0x20U || byte == 0x7F; }, ' ');
    return shortened(line, guest::kMaxWhat);
}

guest::Start start_of(const domain::Command& command, std::size_t max_output_bytes) {
    guest::Start start;
    start.argv = command.argv;
    start.cwd = command.cwd.value_or("");
    for (const auto& [name, value] : command.env) start.env.push_back(name + "=" + value);
    start.time_limit_ms = static_cast<std::uint64_t>(command.timeout_seconds) * 1000;
    start.output_credit = kOutputWindow;
    start.error_credit = kOutputWindow;
    start.keep = static_cast<std::uint32_t>(std::min<std::size_t>(max_output_bytes, UINT32_MAX));
    start.input = command.stdin_bytes && !command.stdin_bytes->empty();
    return start;
}

Result<ExecResult> exec_result(GuestExec& exec, const domain::Command& command, std::chrono::milliseconds duration) {
    if (auto* error = std::get_if<Error>(&exec.end)) return fail(std::move(*error));
    if (const auto* failed = std::get_if<guest::Failed>(&exec.end)) {
        auto result = result_of_failure(*failed);
        if (result) result->output.duration_ms = duration.count();
        return result;
    }
    const auto& exited = std::get<guest::Exited>(exec.end);
    ExecResult result;
    take_output(exec, result.output);
    result.output.duration_ms = duration.count();
    result.output.exit_code = guest::exit_code(exited);
    if (exited.signal != 0) result.output.signal = exited.signal;
    result.output.timed_out = exited.timed_out;
    result.output.oom_killed = exited.oom_killed;
    result.error = reason(exited, exec, command);
    if (exec.cancelled && !exited.timed_out) result.output.exit_code = kKilledExitCode;
    return result;
}

ExecResult cancelled_result() {
    ExecResult result;
    result.output.exit_code = kKilledExitCode;
    result.output.signal = SIGKILL;
    result.error = "cancelled";
    return result;
}

ExecResult too_long_result(const domain::Command& command) {
    ExecResult result;
    result.output.exit_code = kCannotRun;
    result.error = fmt::format("{}: the argument list and the environment are too long together",
                               sentence(command.argv.empty() ? "" : command.argv.front()));
    return result;
}

std::optional<domain::Startup> startup_of(const guest::CommandStatus& status) {
    if (status.state == guest::CommandStatus::State::none) return std::nullopt;
    domain::Startup startup;
    startup.running = status.state == guest::CommandStatus::State::running;
    if (!startup.running) startup.exit_code = status.signal != 0 ? 128 + status.signal : status.code;
    startup.tail = to_utf8(status.tail);
    return startup;
}

}  // namespace sandbox::runtime
