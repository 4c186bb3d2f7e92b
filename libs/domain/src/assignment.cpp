#include <limits>
#include <type_traits>

#include <nlohmann/json.hpp>

#include <sandbox/domain/assignment.hpp>

#include "json_fields.hpp"

namespace sandbox::domain {

namespace {

/// Makes one callable of several lambdas, one for each kind of work.
template <class... Each>
struct Cases : Each... {
    using Each::operator()...;
};

nlohmann::json work_json(const Work& work) {
    auto json = std::visit(Cases{[](const CreateWork& create) {
                                     return nlohmann::json{{"spec", create.spec},
                                                           {"isolation", to_text(create.isolation)},
                                                           {"tunnels", create.tunnels}};
                                 },
                                 [](const ExecWork& exec) { return nlohmann::json{{"command", exec.command}}; },
                                 [](const ExposeWork& expose) { return nlohmann::json{{"tunnel", expose.tunnel}}; },
                                 [](const UnexposeWork& expose) { return nlohmann::json{{"tunnel", expose.tunnel}}; },
                                 [](const DeleteWork&) { return nlohmann::json::object(); }},
                           work);
    json["kind"] = to_text(kind_of(work));
    return json;
}

CreateWork read_create_work(ObjectReader& reader) {
    CreateWork work;
    work.spec = required_object(reader, "spec", read_peer_spec);
    work.isolation = reader.enumeration<Tier>("isolation", kTierNames, std::nullopt);
    work.tunnels = object_array(reader, "tunnels", read_tunnel);
    return work;
}

Command read_peer_command(const nlohmann::json& json, const std::string& path, Problems& problems) {
    return read_command(json, path, problems, UnknownFields::ignore);
}

Work read_work(const nlohmann::json& json, const std::string& path, Problems& problems) {
    const auto before = problems.items().size();
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    const auto kind = reader.enumeration<OperationKind>("kind", kOperationKindNames, std::nullopt);
    if (problems.items().size() != before) return DeleteWork{};
    switch (kind) {
        case OperationKind::create:
            return read_create_work(reader);
        case OperationKind::exec:
            return ExecWork{required_object(reader, "command", read_peer_command)};
        case OperationKind::expose:
            return ExposeWork{required_object(reader, "tunnel", read_tunnel)};
        case OperationKind::unexpose:
            return UnexposeWork{required_object(reader, "tunnel", read_tunnel)};
        case OperationKind::destroy:
            break;
    }
    return DeleteWork{};
}

}  // namespace

OperationKind kind_of(const Work& work) noexcept {
    return std::visit(Cases{[](const CreateWork&) { return OperationKind::create; },
                            [](const ExecWork&) { return OperationKind::exec; },
                            [](const ExposeWork&) { return OperationKind::expose; },
                            [](const UnexposeWork&) { return OperationKind::unexpose; },
                            [](const DeleteWork&) { return OperationKind::destroy; }},
                      work);
}

void to_json(nlohmann::json& json, const Assignment& value) {
    json = {{"id", value.id.text()},
            {"operation_id", value.operation_id.text()},
            {"sandbox_id", value.sandbox_id.text()},
            {"node_id", value.node_id.text()},
            {"kind", work_json(value.kind)},
            {"state", to_text(value.state)},
            {"attempt", value.attempt},
            {"lease_until", or_null(value.lease_until)},
            {"created_at", format_time(value.created_at)}};
}

Assignment read_assignment(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Assignment value;
    read_id(reader, "id", value.id);
    read_id(reader, "operation_id", value.operation_id);
    read_id(reader, "sandbox_id", value.sandbox_id);
    read_id(reader, "node_id", value.node_id);
    value.kind = required_object<Work>(reader, "kind", read_work);
    value.state = reader.enumeration<AssignmentState>("state", kAssignmentStateNames, AssignmentState::leased);
    value.attempt = reader.optional_integer("attempt", 0, std::numeric_limits<std::int64_t>::max()).value_or(0);
    value.lease_until = optional_time(reader, "lease_until");
    value.created_at = optional_time(reader, "created_at").value_or(Timestamp{});
    return value;
}

void to_json(nlohmann::json& json, const Completion& value) {
    json = {{"assignment_id", value.assignment_id.text()},
            {"operation_id", value.operation_id.text()},
            {"sandbox_id", value.sandbox_id.text()},
            {"success", value.success},
            {"sandbox_state", to_text(value.sandbox_state)},
            {"output", or_null(value.output)},
            {"error", or_null(value.error)},
            {"attempt", or_null(value.attempt)},
            {"startup", or_null(value.startup)}};
}

Completion read_completion(const nlohmann::json& json, const std::string& path, Problems& problems) {
    ObjectReader reader(json, path, problems, UnknownFields::ignore);
    Completion value;
    read_id(reader, "assignment_id", value.assignment_id);
    read_id(reader, "operation_id", value.operation_id);
    read_id(reader, "sandbox_id", value.sandbox_id);
    value.success = reader.boolean("success");
    value.sandbox_state = reader.enumeration<SandboxState>("sandbox_state", kSandboxStateNames, std::nullopt);
    value.output = optional_object(reader, "output", read_output);
    if (auto error = reader.optional_string("error")) value.error = without_nul(std::move(*error));
    value.attempt = reader.optional_integer("attempt", 0, std::numeric_limits<std::int64_t>::max());
    value.startup = optional_object(reader, "startup", read_startup);
    return value;
}

}  // namespace sandbox::domain
