#include "external/driver_messages.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>
#include <sandbox/runtime/output_capture.hpp>

#include "guest_exec.hpp"

namespace sandbox::runtime::external {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kMayHoldNul{"result.stdout", "result.stderr", "result.error"};
constexpr int kTimedOut = 124;
constexpr std::int64_t kMostExitCode = 255;
constexpr std::int64_t kMostSignal = 64;
constexpr std::size_t kMostNameBytes = 100;

/// "driver create: what, and the end of its standard error".
std::unexpected<Error> failure(Code code, const DriverOrder& order, const DriverRun& run, std::string what) {
    if (!run.words.empty()) what += "; the end of its standard error: " + run.words;
    return fail(code, fmt::format("driver {}: {}", order.action, order.mask.apply(std::move(what))));
}

std::string seconds(std::chrono::milliseconds limit) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(limit);
    if (whole == limit) return fmt::format("{} s", whole.count());
    return fmt::format("{} ms", limit.count());
}

/// What an answer says, whether it is for good or ill.
struct Answer {
    bool success = false;
    json result;
    std::string error;
};

Result<Answer> parse_answer(std::string_view text) {
    auto document = parse_json(text, kMayHoldNul);
    if (!document) return fail(std::move(document.error()));
    Problems problems;
    ObjectReader reader(*document, "", problems, UnknownFields::ignore);
    Answer answer;
    if (auto protocol = reader.optional_string("protocol_version"); protocol && *protocol != kProtocol)
        return fail(Code::invalid_argument,
                    fmt::format("it names protocol \"{}\", and this worker speaks {}", sentence(*protocol), kProtocol));
    answer.success = reader.boolean("success");
    answer.error = sentence(reader.optional_string("error").value_or(""));
    if (const auto* result = reader.field("result")) {
        if (!result->is_object()) reader.problem("result", "must be an object");
    }
    if (!problems.empty()) return fail(problems.to_error());
    if (auto found = document->find("result"); found != document->end() && found->is_object())
        answer.result = std::move(*found);
    else
        answer.result = json::object();
    return answer;
}

/// Of a field's reading: the result itself, or what is wrong with it.
template <class T>
Result<T> checked(T value, const Problems& problems) {
    if (problems.empty()) return value;
    return fail(Code::unavailable, "the driver's answer: " + sentence(problems.to_error().message()));
}

/// One stream of an exec's answer, exact where the driver gives base64.
OutputCapture::Kept take_stream(ObjectReader& reader, std::string_view name, std::size_t limit, std::int64_t& total) {
    const auto base64_name = fmt::format("{}_base64", name);
    auto bytes = reader.optional_string(name).value_or("");
    if (const auto encoded = reader.optional_string(base64_name)) {
        if (auto decoded = base64_decode(*encoded))
            bytes = std::move(*decoded);
        else
            reader.problem(base64_name, "is no base64 (RFC 4648, with padding)");
    }
    total = std::max(static_cast<std::int64_t>(bytes.size()),
                     reader.optional_integer(fmt::format("{}_bytes", name), 0, std::numeric_limits<std::int64_t>::max())
                         .value_or(0));
    OutputCapture capture(limit);
    capture.append(bytes);
    return std::move(capture).finish();
}

}  // namespace

std::string request_text(domain::SandboxId id, const json& payload) {
    return dump_json({{"protocol_version", kProtocol}, {"sandbox_id", id.text()}, {"payload", payload}});
}

Result<json> result_of(DriverRun run, const DriverOrder& order) {
    switch (run.end) {
        case DriverRun::End::past_limit:
            return failure(Code::deadline_exceeded, order, run,
                           fmt::format("it did not end within {} and was killed", seconds(order.limit)));
        case DriverRun::End::stopped:
            return failure(Code::cancelled, order, run, "it was stopped");
        case DriverRun::End::wrote_too_much:
            return failure(Code::unavailable, order, run,
                           fmt::format("it printed more than {} bytes and was killed", order.answer_limit));
        case DriverRun::End::killed:
            return failure(Code::unavailable, order, run, fmt::format("it was ended by signal {}", run.status));
        case DriverRun::End::exited:
            break;
    }
    const bool silent = run.answer.find_first_not_of(" \t\r\n") == std::string::npos;
    if (silent && run.status == 0) return failure(Code::unavailable, order, run, "it printed no answer");
    auto answer = silent ? Result<Answer>(fail(Code::unavailable, "it printed no answer")) : parse_answer(run.answer);
    run.answer = {};
    if (run.status != 0) {
        auto what = fmt::format("it ended with exit status {}", run.status);
        if (answer && !answer->error.empty()) what += ": " + answer->error;
        return failure(Code::unavailable, order, run, std::move(what));
    }
    if (!answer)
        return failure(Code::unavailable, order, run,
                       "its answer can't be used: " + sentence(answer.error().message()));
    if (answer->success) return std::move(answer->result);
    // This is the driver's own sentence, and no fault of how it was run: its log is in ours already.
    auto error = answer->error.empty() ? "it failed and did not say why" : answer->error;
    return fail(Code::unavailable, fmt::format("driver {}: {}", order.action, order.mask.apply(std::move(error))));
}

Result<ProbeAnswer> read_probe(const json& result) {
    Problems problems;
    ObjectReader reader(result, "result", problems, UnknownFields::ignore);
    ProbeAnswer answer;
    answer.name = shortened(sentence(reader.string("name")), kMostNameBytes);
    answer.version = shortened(sentence(reader.string("version")), kMostNameBytes);
    for (const auto& element : reader.array("tiers")) {
        const auto* name = element.value.get_ptr<const json::string_t*>();
        const auto* tier = name == nullptr ? domain::kTierNames.end()
                                           : std::ranges::find(domain::kTierNames, *name,
                                                               [](const auto& entry) { return entry.first; });
        if (tier == domain::kTierNames.end())
            problems.add(element.path, "must be container or microvm");
        else if (std::ranges::find(answer.tiers, tier->second) == answer.tiers.end())
            answer.tiers.push_back(tier->second);
    }
    if (problems.empty() && answer.tiers.empty()) reader.problem("tiers", "must name at least one tier");
    std::ranges::sort(answer.tiers);
    answer.supports_http_tunnels = reader.boolean_or("supports_http_tunnels", false);
    answer.concurrent_exec = reader.boolean_or("concurrent_exec", false);
    return checked(std::move(answer), problems);
}

Result<std::vector<domain::SandboxId>> read_list(const json& result) {
    Problems problems;
    ObjectReader reader(result, "result", problems, UnknownFields::ignore);
    std::vector<domain::SandboxId> ids;
    (void)reader.required_field("sandboxes");
    for (const auto& element : reader.array("sandboxes")) {
        const auto* text = element.value.get_ptr<const json::string_t*>();
        const auto id = text == nullptr ? std::nullopt : domain::SandboxId::parse(*text);
        if (!id)
            problems.add(element.path, "must be a sandbox's id");
        else
            ids.push_back(*id);
    }
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    return checked(std::move(ids), problems);
}

Result<ExecResult> read_exec(const json& result, const domain::Command& command, std::size_t max_output_bytes,
                             std::chrono::milliseconds took) {
    Problems problems;
    ObjectReader reader(result, "result", problems, UnknownFields::ignore);
    ExecResult read;
    auto& output = read.output;
    output.exit_code = reader.integer("exit_code", 0, kMostExitCode);
    auto out = take_stream(reader, "stdout", max_output_bytes, output.stdout_bytes);
    auto err = take_stream(reader, "stderr", max_output_bytes, output.stderr_bytes);
    output.truncated = reader.boolean_or("truncated", false) || out.truncated || err.truncated;
    output.stdout_text = std::move(out.text);
    output.stderr_text = std::move(err.text);
    output.stdout_base64 = std::move(out.base64);
    output.stderr_base64 = std::move(err.base64);
    output.timed_out = reader.boolean_or("timed_out", false);
    output.signal = reader.optional_integer("signal", 1, kMostSignal);
    output.oom_killed = reader.boolean_or("oom_killed", false);
    output.duration_ms =
        reader.optional_integer("duration_ms", 0, std::numeric_limits<std::int64_t>::max()).value_or(took.count());
    auto error = sentence(reader.optional_string("error").value_or(""));
    if (output.timed_out) {
        output.exit_code = kTimedOut;
        read.error = fmt::format("the time limit of {} s was reached", command.timeout_seconds);
    } else if (output.exit_code != 0 && !error.empty()) {
        read.error = std::move(error);
    } else if (output.exit_code != 0 && output.oom_killed) {
        read.error = "the sandbox's memory limit was reached";
    }
    return checked(std::move(read), problems);
}

}  // namespace sandbox::runtime::external
