#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>

#include "body.hpp"

namespace sandbox::api {
namespace {

using nlohmann::json;

// What commands wrote or are to read is bytes; an older worker's error may quote such bytes.
constexpr std::string_view kCommandBytes[] = {"command.stdin"};
constexpr std::string_view kReportBytes[] = {"output.stdout", "output.stderr", "startup.tail", "error"};

/// Reads an operator's body whose fields `read(reader)` asks for; any other field is refused.
template <class Read>
auto read_operator_body(std::string_view body, Read read, std::span<const std::string_view> may_hold_nul = {}) {
    return read_body(
        body,
        [&](const json& value, Problems& problems) {
            ObjectReader reader(value, "", problems, UnknownFields::refuse);
            auto result = read(reader);
            reader.finish();
            return result;
        },
        may_hold_nul);
}

template <class Read>
auto read_worker_body(std::string_view body, Read read) {
    return read_body(
        body,
        [&](const json& value, Problems& problems) {
            ObjectReader reader(value, "", problems, UnknownFields::ignore);
            return read(reader);
        },
        kReportBytes);
}

}  // namespace

Result<domain::SandboxSpec> read_create_request(std::string_view body, const domain::SpecLimits& limits) {
    return read_operator_body(body, [&](ObjectReader& reader) {
        domain::SandboxSpec spec;
        if (const auto* field = reader.required_field("spec")) {
            spec = domain::read_spec(*field, "spec", reader.problems(), reader.unknown());
            if (field->is_object()) domain::validate(spec, "spec", limits, reader.problems());
        }
        return spec;
    });
}

Result<domain::Command> read_exec_request(std::string_view body) {
    return read_operator_body(
        body,
        [](ObjectReader& reader) {
            domain::Command command;
            if (const auto* field = reader.required_field("command")) {
                command = domain::read_command(*field, "command", reader.problems(), reader.unknown());
                if (field->is_object()) domain::validate(command, "command", reader.problems());
            }
            return command;
        },
        kCommandBytes);
}

Result<std::int64_t> read_extend_request(std::string_view body, std::int64_t max_ttl_seconds) {
    constexpr std::int64_t kLeast = 30;
    return read_operator_body(
        body, [&](ObjectReader& reader) { return reader.integer("ttl_seconds", kLeast, max_ttl_seconds); });
}

Result<bool> read_drain_request(std::string_view body) {
    return read_operator_body(body, [](ObjectReader& reader) { return reader.boolean("drain"); });
}

Result<domain::Exposure> read_exposure_request(std::string_view body) {
    return read_body(body, [](const json& value, Problems& problems) {
        auto exposure = domain::read_exposure(value, "", problems, UnknownFields::refuse);
        if (value.is_object()) domain::validate(exposure, "", problems);
        return exposure;
    });
}

Result<void> read_empty_request(std::string_view body) {
    if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
    auto read = read_operator_body(body, [](ObjectReader&) { return true; });
    if (!read) return fail(std::move(read.error()));
    return {};
}

Result<domain::Node> read_register_request(std::string_view body) {
    return read_worker_body(body, [](ObjectReader& reader) { return required(reader, "node", domain::read_node); });
}

Result<domain::Heartbeat> read_heartbeat_request(std::string_view body) {
    return read_body(
        body, [](const json& value, Problems& problems) { return domain::read_heartbeat(value, "", problems); },
        kReportBytes);
}

Result<domain::Completion> read_complete_request(std::string_view body) {
    return read_body(
        body, [](const json& value, Problems& problems) { return domain::read_completion(value, "", problems); },
        kReportBytes);
}

Result<std::vector<domain::AssignmentId>> read_release_request(std::string_view body) {
    return read_worker_body(body, [](ObjectReader& reader) {
        (void)reader.required_field("assignment_ids");
        return items(reader, "assignment_ids", read_id<domain::AssignmentId>);
    });
}

std::string create_request(const domain::SandboxSpec& spec) {
    return dump_json({{"spec", spec}});
}

std::string exec_request(const domain::Command& command) {
    return dump_json({{"command", command}});
}

std::string register_request(const domain::Node& node) {
    return dump_json({{"node", node}});
}

std::string release_request(const std::vector<domain::AssignmentId>& ids) {
    auto texts = json::array();
    for (const auto& id : ids) texts.push_back(id.text());
    return dump_json({{"assignment_ids", std::move(texts)}});
}

}  // namespace sandbox::api
