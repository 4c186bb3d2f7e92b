#include <nlohmann/json.hpp>

#include <sandbox/base/text.hpp>
#include <sandbox/domain/spec.hpp>
#include <sandbox/domain/validation.hpp>

#include "json_fields.hpp"

namespace sandbox::domain {

void to_json(nlohmann::json& json, const Command& value) {
    json = {{"argv", value.argv}, {"cwd", or_null(value.cwd)},
            {"env", value.env},   {"timeout_seconds", value.timeout_seconds},
            {"stdin", nullptr},   {"stdin_base64", nullptr}};
    if (!value.stdin_bytes) return;
    // NUL is UTF-8, but not every JSON reader takes it in a string.
    const bool is_text = is_utf8(*value.stdin_bytes) && value.stdin_bytes->find('\0') == std::string::npos;
    if (is_text)
        json["stdin"] = *value.stdin_bytes;
    else
        json["stdin_base64"] = base64_encode(*value.stdin_bytes);
}

Command read_command(const nlohmann::json& json, const std::string& path, Problems& problems, UnknownFields unknown) {
    ObjectReader reader(json, path, problems, unknown);
    Command value;
    if (reader.required_field("argv")) value.argv = reader.strings("argv");
    value.cwd = reader.optional_string("cwd");
    value.env = reader.string_map("env");
    value.timeout_seconds =
        reader.optional_integer("timeout_seconds", 1, kMostTimeoutSeconds).value_or(value.timeout_seconds);
    value.stdin_bytes = reader.optional_string("stdin");
    if (const auto encoded = reader.optional_string("stdin_base64")) {
        if (value.stdin_bytes) reader.problem("stdin_base64", "can't be given together with stdin");
        value.stdin_bytes = base64_decode(*encoded);
        if (!value.stdin_bytes) reader.problem("stdin_base64", "is no base64 (RFC 4648, with padding)");
    }
    reader.finish();
    return value;
}

}  // namespace sandbox::domain
