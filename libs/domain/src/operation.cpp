#include <limits>

#include <nlohmann/json.hpp>

#include <sandbox/base/text.hpp>
#include <sandbox/domain/operation.hpp>

#include "json_fields.hpp"

namespace sandbox::domain {

namespace {

constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

/// The exact bytes beside a text that could not carry them.
std::optional<std::string> read_base64(ObjectReader& reader, std::string_view name) {
    auto text = reader.optional_string(name);
    if (text && !base64_decode(*text)) reader.problem(name, "is no base64 (RFC 4648, with padding)");
    return text;
}

std::int64_t size_of(const std::string& text) {
    return static_cast<std::int64_t>(text.size());
}

}  // namespace

void to_json(nlohmann::json& json, const Output& value) {
    json = {{"exit_code", value.exit_code},
            {"stdout", value.stdout_text},
            {"stderr", value.stderr_text},
            {"truncated", value.truncated},
            {"timed_out", value.timed_out},
            {"signal", or_null(value.signal)},
            {"oom_killed", value.oom_killed},
            {"stdout_bytes", value.stdout_bytes},
            {"stderr_bytes", value.stderr_bytes},
            {"duration_ms", value.duration_ms},
            {"stdout_base64", or_null(value.stdout_base64)},
            {"stderr_base64", or_null(value.stderr_base64)}};
}

Output read_output(const nlohmann::json& json, const std::string& path, Problems& problems) {
    constexpr std::int64_t kKilled = 137;
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Output value;
    // Peers of an older version leave the code out of a command that was killed.
    value.exit_code = reader
                          .optional_integer("exit_code", std::numeric_limits<std::int32_t>::min(),
                                            std::numeric_limits<std::int32_t>::max())
                          .value_or(kKilled);
    value.stdout_text = reader.optional_string("stdout").value_or("");
    value.stderr_text = reader.optional_string("stderr").value_or("");
    value.truncated = reader.boolean_or("truncated", false);
    value.timed_out = reader.boolean_or("timed_out", false);
    value.signal = reader.optional_integer("signal", 0, 255);
    value.oom_killed = reader.boolean_or("oom_killed", false);
    value.stdout_bytes = reader.optional_integer("stdout_bytes", 0, kMostBytes).value_or(size_of(value.stdout_text));
    value.stderr_bytes = reader.optional_integer("stderr_bytes", 0, kMostBytes).value_or(size_of(value.stderr_text));
    value.duration_ms = reader.optional_integer("duration_ms", 0, kMostBytes).value_or(0);
    value.stdout_base64 = read_base64(reader, "stdout_base64");
    value.stderr_base64 = read_base64(reader, "stderr_base64");
    return value;
}

void to_json(nlohmann::json& json, const Operation& value) {
    json = {{"id", value.id.text()},
            {"sandbox_id", value.sandbox_id.text()},
            {"kind", to_text(value.kind)},
            {"state", to_text(value.state)},
            {"output", or_null(value.output)},
            {"error", or_null(value.error)},
            {"created_at", format_time(value.created_at)},
            {"updated_at", format_time(value.updated_at)},
            {"started_at", or_null(value.started_at)},
            {"argv", or_null(value.argv)},
            {"phase", or_null(value.phase)}};
}

Operation read_operation(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Operation value;
    read_id(reader, "id", value.id);
    read_id(reader, "sandbox_id", value.sandbox_id);
    value.kind = reader.enumeration<OperationKind>("kind", kOperationKindNames, OperationKind::create);
    value.state = reader.enumeration<OperationState>("state", kOperationStateNames, std::nullopt);
    value.output = optional_object(reader, "output", read_output);
    value.error = reader.optional_string("error");
    value.created_at = read_time(reader, "created_at");
    value.updated_at = read_time(reader, "updated_at");
    value.started_at = optional_time(reader, "started_at");
    if (reader.has("argv")) value.argv = reader.strings("argv");
    value.phase = reader.optional_string("phase");
    return value;
}

}  // namespace sandbox::domain
