#include "results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/base/text.hpp>

namespace sandbox::mcp {
namespace {

constexpr std::string_view kMasked = "(hidden)";
/// How the client's sentence about an answer begins that is not the API's.
constexpr std::string_view kForeign = "the server answered ";
/// What a server says that will never do what was asked.
constexpr std::string_view kNotInThisVersion = "not available in this version";

/// What an operator knows a gate by, for the gates that say what is short.
std::string_view shortage(const std::string& gate) {
    if (gate == "draining") return "being drained";
    if (gate == "stale") return "silent for too long";
    if (gate == "pressure") return "under too much load";
    if (gate == "isolation") return "without the isolation that this risk demands";
    if (gate == "tunnels") return "without tunnels";
    if (gate == "resources") return "short of CPU, memory, disk or processes";
    if (gate == "sandbox_limit") return "at the limit of sandboxes";
    if (gate == "labels") return "without the required labels";
    if (gate == "reserve") return "with room for it only in the 5 % of each resource that is kept in reserve";
    return "refused for a reason that this bridge does not know";
}

/// The gates of a no_capacity answer: "2 short of CPU, memory, disk or processes, 1 silent for too long".
std::string short_of(const std::string& details) {
    auto json = parse_json(details.empty() ? "{}" : details);
    if (!json || !json->is_object()) return "";
    auto rejected = json->find("rejected");
    if (rejected == json->end() || !rejected->is_object()) return "";
    std::vector<std::string> parts;
    for (const auto& [gate, count] : rejected->items())
        if (count.is_number_integer()) parts.push_back(fmt::format("{} {}", count.get<std::int64_t>(), shortage(gate)));
    if (parts.empty()) return json->value("nodes", nlohmann::json()) == 0 ? "there are no hosts" : "";
    return fmt::format("of the hosts, {}", fmt::join(parts, ", "));
}

std::string no_capacity(const client::Failure& failure, std::string_view short_resources) {
    auto why = short_of(failure.error.details());
    if (!short_resources.empty()) why += fmt::format("; short is {}", short_resources);
    const auto* less = short_resources.empty() ? "cpu_millis, memory_mib, disk_mib or pids" : "what is short";
    return fmt::format(
        "No host can take this sandbox now{}{}. Delete sandboxes that are no longer needed, ask for less {}{}, or try "
        "again later. Do not weaken isolation, sensitivity, network or the risk flags to make it fit: "
        "they say what the code may do, and that has not changed.",
        why.empty() ? "" : ": ", why, short_resources.empty() ? "" : "of ", less);
}

std::string with_stop(std::string sentence) {
    if (!sentence.empty() && std::string_view(".!?").find(sentence.back()) == std::string_view::npos) sentence += '.';
    return sentence;
}

/// Whether it was no server of ours that answered, or one that knows no such path: no word of ours, no JSON.
bool is_wrong_address(const client::Failure& failure, Sought sought) {
    const auto& message = failure.error.message();
    if (failure.status == 200 || (failure.status >= 300 && failure.status < 400)) return true;
    if (failure.status == 404)
        return sought == Sought::nothing || message == "there is no such path" || message.starts_with(kForeign);
    return failure.status == 405;
}

/// What may help, as a sentence with a blank before it.
std::string_view help(const client::Failure& failure, Sought sought) {
    if (is_wrong_address(failure, sought))
        return " Ask the user to check that SANDBOX_URL of this MCP server is the Sandbox server's own address, with "
               "its path prefix if it has one, and that the server is not older than this MCP server.";
    if (failure.status == 404)
        return sought == Sought::operation
                   ? " The result of the call that started an operation has its id (operation.id); `sandbox operations "
                     "SANDBOX_ID` lists those of a sandbox."
                   : " sandbox_list shows the sandboxes that there are.";
    if (failure.error.message().find(kNotInThisVersion) != std::string::npos) return "";
    return failure.status == 429 || failure.status == 503 ? " Try again in a moment." : "";
}

std::string duration(std::int64_t milliseconds) {
    if (milliseconds < 1000) return fmt::format("{} ms", milliseconds);
    return fmt::format("{:.1f} s", static_cast<double>(milliseconds) / 1000);
}

/// How a command ended, when that is no success.
std::string verdict(const domain::Operation& operation) {
    const auto& output = *operation.output;
    const auto time = duration(output.duration_ms);
    if (output.timed_out)
        return fmt::format(
            "The command was stopped at its time limit after {}, with all that it had started. Give a longer "
            "timeout_seconds, or make it do less.",
            time);
    if (output.oom_killed)
        return fmt::format(
            "The command was killed after {}: the sandbox's memory limit was reached (exit status {}). Make it use "
            "less, or create a sandbox with a larger memory_mib.",
            time, output.exit_code);
    const auto plain = fmt::format("command exited with status {}", output.exit_code);
    const auto reason = operation.error && *operation.error != plain ? ": " + *operation.error : std::string();
    if (output.signal)
        return fmt::format(
            "The command was ended by signal {} after {} (exit status {}){}. The sandbox is still there.",
            *output.signal, time, output.exit_code, reason);
    return fmt::format(
        "The command exited with status {} after {}{}. The sandbox is still there: correct the cause and "
        "try again.",
        output.exit_code, time, reason);
}

std::string stream_text(const domain::Operation& operation, Stream stream, std::size_t max_output) {
    const auto& output = *operation.output;
    const auto bytes = kept_bytes(output, stream);
    if (bytes.empty()) return "";
    const auto total = stream == Stream::out ? output.stdout_bytes : output.stderr_bytes;
    auto text = cut(bytes, max_output, operation, stream);
    if (!text.ends_with('\n')) text += '\n';
    const auto dropped = output.truncated && total > static_cast<std::int64_t>(bytes.size())
                             ? fmt::format(" ({} bytes written, {} kept by the host)", total, bytes.size())
                             : std::string();
    // What is cut says so itself.
    const auto exact = bytes.size() > max_output || is_utf8(bytes)
                           ? std::string()
                           : fmt::format(
                                 " (no text: sandbox_operation with operation_id \"{}\" and stream \"{}\" gives the "
                                 "exact bytes as base64)",
                                 operation.id.text(), to_text(stream));
    return fmt::format("\n{}{}{}:\n{}", to_text(stream), dropped, exact, text);
}

std::string streams(const domain::Operation& operation, std::size_t max_output) {
    auto text = stream_text(operation, Stream::out, max_output) + stream_text(operation, Stream::err, max_output);
    return text.empty() ? "\nIt wrote nothing.\n" : text;
}

}  // namespace

void make_error(ToolResult& result, const std::string& message) {
    result.is_error = true;
    result.text = result.text.empty() ? message : message + "\n" + result.text;
    result.structure["error"] = message;
}

void add_note(ToolResult& result, const std::string& note) {
    result.text += (result.text.empty() || result.text.ends_with('\n') ? "" : "\n") + note;
    auto& known = result.structure["note"];
    known = known.is_null() ? note : known.get<std::string>() + " " + note;
}

ToolResult refusal(std::string message) {
    ToolResult result;
    make_error(result, message);
    return result;
}

ToolResult bad_arguments(const Error& problems) {
    return refusal(fmt::format("The arguments do not fit: {}. Nothing was done; correct them and call again.",
                               problems.message()));
}

std::string explain(const client::Failure& failure, std::string_view doing, Sought sought,
                    std::string_view short_resources) {
    const auto& message = failure.error.message();
    if (failure.status == 0) {
        log::warn("the server can't be reached", {{"error", message}});
        if (failure.error.code() == Code::invalid_argument)
            return fmt::format("Can't {}: the bridge's own settings are wrong; its standard error says how.", doing);
        return fmt::format(
            "Can't {}: the Sandbox server does not answer. Ask the user to check that it runs and that SANDBOX_URL of "
            "this MCP server names it (`sandbox doctor` looks closer; this MCP server's standard error has the cause).",
            doing);
    }
    if (failure.status == 401)
        return fmt::format(
            "Can't {}: the Sandbox server does not take this bridge's token. Ask the user to set SANDBOX_TOKEN in the "
            "client's configuration of this MCP server.",
            doing);
    if (failure.code == "no_capacity") return no_capacity(failure, short_resources);
    auto text = with_stop(fmt::format("Can't {}: {}", doing, message));
    text += help(failure, sought);
    if (!failure.request_id.empty() && failure.status >= 500) text += fmt::format(" (request {})", failure.request_id);
    return text;
}

bool is_missing(const client::Failure& failure) {
    return failure.status == 404 && !is_wrong_address(failure, Sought::sandbox);
}

ToolResult failed(const client::Failure& failure, std::string_view doing, Sought sought) {
    return refusal(explain(failure, doing, sought));
}

nlohmann::json shown(const domain::Sandbox& sandbox) {
    nlohmann::json json = sandbox;
    for (auto& value : json["spec"]["env"]) value = kMasked;
    return json;
}

nlohmann::json shown(const domain::Operation& operation, std::size_t max_output) {
    nlohmann::json json = operation;
    if (!operation.output) return json;
    auto& output = json["output"];
    for (const auto stream : {Stream::out, Stream::err}) {
        const auto bytes = kept_bytes(*operation.output, stream);
        if (bytes.size() <= max_output) continue;
        const std::string name(to_text(stream));
        output[name] = cut(bytes, max_output, operation, stream);
        output[name + "_base64"] = nullptr;
    }
    return json;
}

std::string describe(const domain::Sandbox& sandbox) {
    auto text = fmt::format("Sandbox {} is {} ({}, risk {}), image {}, tenant {}, network {}, {} {}", sandbox.id.text(),
                            to_text(sandbox.state), to_text(sandbox.isolation), sandbox.risk_score, sandbox.spec.image,
                            sandbox.spec.tenant, to_text(sandbox.spec.network),
                            domain::is_live(sandbox.state) ? "expires" : "last changed",
                            format_time(domain::is_live(sandbox.state) ? sandbox.expires_at : sandbox.updated_at));
    // Of a sandbox that runs it is the last failed operation's.
    if (sandbox.failure)
        text += fmt::format("; {}: {}", sandbox.state == domain::SandboxState::failed ? "because" : "last failure",
                            *sandbox.failure);
    return text;
}

std::string describe(const domain::Operation& operation) {
    auto text = fmt::format("{} {} of sandbox {} is {}", to_text(operation.kind), operation.id.text(),
                            operation.sandbox_id.text(), to_text(operation.state));
    if (operation.phase) text += fmt::format(" ({})", *operation.phase);
    return text;
}

ToolResult account(const domain::Operation& operation, std::size_t max_output, const std::string& name) {
    ToolResult result;
    result.structure[name] = shown(operation, max_output);
    if (!domain::has_ended(operation.state)) {
        result.text = fmt::format("Not ended yet: {}.", describe(operation));
        add_note(result,
                 fmt::format("It goes on; sandbox_wait with operation_id \"{}\" waits for it.", operation.id.text()));
        return result;
    }
    const bool good = operation.state == domain::OperationState::succeeded;
    if (operation.output) {
        const auto output = streams(operation, max_output);
        if (good) {
            result.text = fmt::format("exit status 0 after {} (operation {})\n{}",
                                      duration(operation.output->duration_ms), operation.id.text(), output);
        } else {
            result.text = fmt::format("(operation {})\n{}", operation.id.text(), output);
            make_error(result, verdict(operation));
        }
        return result;
    }
    if (good)
        result.text = fmt::format("Done: {} of sandbox {} (operation {}).", to_text(operation.kind),
                                  operation.sandbox_id.text(), operation.id.text());
    else
        make_error(result, with_stop(fmt::format("{} of sandbox {} failed: {}", to_text(operation.kind),
                                                 operation.sandbox_id.text(),
                                                 operation.error.value_or("the server gives no reason"))));
    return result;
}

}  // namespace sandbox::mcp
