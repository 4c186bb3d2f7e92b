#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/openapi.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/version.hpp>

#include "openapi_tables.hpp"

namespace sandbox::api {
namespace {

using nlohmann::json;

/// Takes what stands before `separator` off the front; all of it when there is none.
std::string_view take(std::string_view& text, std::string_view separator) {
    auto end = text.find(separator);
    auto front = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
    return front;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) parts.push_back(take(text, separator));
    return parts;
}

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
        broken_invariant("a number in the OpenAPI tables");
    return value;
}

json reference(std::string_view kind, std::string_view name) {
    return {{"$ref", fmt::format("#/components/{}/{}", kind, name)}};
}

json plain_type(std::string_view type) {
    if (type.starts_with('#')) return reference("schemas", type.substr(1));
    if (type.starts_with('[')) return {{"type", "array"}, {"items", plain_type(type.substr(1, type.size() - 2))}};
    if (type == "{string}") return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    if (type == "uuid") return {{"type", "string"}, {"format", "uuid"}};
    if (type == "time") return {{"type", "string"}, {"format", "date-time"}};
    return {{"type", type}};
}

void limit(json& schema, std::string_view range) {
    auto low = take(range, "..");
    const auto kind = schema.value("type", json()).get<std::string>();
    const bool counts = kind == "string" || kind == "array";
    const std::string unit = kind == "string" ? "Length" : kind == "array" ? "Items" : "imum";
    if (!counts || number(low) > 0) schema["min" + unit] = number(low);
    if (!range.empty()) schema["max" + unit] = number(range);
}

void allow_null(json& schema) {
    if (schema.contains("$ref"))
        schema = {{"anyOf", json::array({schema, {{"type", "null"}}})}};
    else
        schema["type"] = json::array({schema["type"], "null"});
}

/// The schema of a Field's type: see there.
json type_schema(std::string_view text) {
    auto type = take(text, " = ");
    auto fallback = text;
    if (type.starts_with("const ")) return {{"const", type.substr(6)}};
    auto name = take(type, " ");
    const bool nullable = name.ends_with('?');
    if (nullable) name.remove_suffix(1);
    auto schema = plain_type(name);
    if (!type.empty()) limit(schema, type);
    if (nullable) allow_null(schema);
    if (!fallback.empty()) schema["default"] = parse_json(fallback).value();
    return schema;
}

json object_schema(const Schema& table) {
    json schema{{"type", "object"}, {"properties", json::object()}};
    if (!table.description.empty()) schema["description"] = table.description;
    auto required = json::array();
    for (const auto& field : table.fields) {
        auto property = type_schema(field.type);
        if (!field.description.empty()) property["description"] = field.description;
        schema["properties"][std::string(field.name)] = std::move(property);
        if (table.use == Use::written || field.type.find(" = ") == std::string_view::npos)
            required.push_back(field.name);
    }
    if (!required.empty()) schema["required"] = std::move(required);
    return schema;
}

json work_schema() {
    json choice{{"oneOf", json::array()}, {"discriminator", {{"propertyName", "kind"}}}};
    for (const auto& [kind, name] : {std::pair{"create", "CreateWork"},
                                     {"exec", "ExecWork"},
                                     {"expose", "ExposeWork"},
                                     {"unexpose", "UnexposeWork"},
                                     {"delete", "DeleteWork"}}) {
        auto target = reference("schemas", name);
        choice["discriminator"]["mapping"][kind] = target["$ref"];
        choice["oneOf"].push_back(std::move(target));
    }
    return choice;
}

json schemas() {
    json all{{"Work", work_schema()}};
    for (const auto& list : {operator_schemas(), worker_schemas(), envelope_schemas()})
        for (const auto& schema : list) all[std::string(schema.name)] = object_schema(schema);
    for (const auto& [name, description, spellings] : enumerations())
        all[std::string(name)] = {{"type", "string"}, {"enum", spellings}, {"description", description}};
    return all;
}

json parameter(const Parameter& row) {
    json result{{"name", row.wire_name}, {"in", row.in}, {"schema", type_schema(row.type)}};
    if (row.in == "path") result["required"] = true;
    if (!row.description.empty()) result["description"] = row.description;
    return result;
}

json content(std::string_view schema) {
    if (schema == "text") return {{"text/plain", {{"schema", {{"type", "string"}}}}}};
    const auto name = take(schema, " ");
    auto body = name == "object" ? json{{"type", "object"}} : reference("schemas", name);
    json all{{"application/json", {{"schema", std::move(body)}}}};
    if (schema == "stream") all["text/event-stream"] = {{"schema", {{"type", "string"}}}};
    return all;
}

struct ErrorStatus {
    std::string_view status;
    std::string_view description;
};
constexpr ErrorStatus kErrors[] = {
    {"400", "invalid_request: the message names every problem with its JSON path"},
    {"401", "unauthorized: the token is missing or wrong"},
    {"404", "not_found"},
    {"405", "method_not_allowed; Allow says what is"},
    {"408", "request_timeout: the request did not arrive in 30 s"},
    {"409", "conflict: the present state does not allow it"},
    {"413", "payload_too_large"},
    {"429", "rate_limited; Retry-After says when to come back"},
    {"500", "internal: the log has more under the request id"},
    {"503", "unavailable, or no_capacity when no node fits"},
};

json error_responses() {
    json all;
    for (const auto& [status, description] : kErrors)
        all[fmt::format("Error{}", status)] = {{"description", description}, {"content", content("Error")}};
    all["Error"] = {{"description", "any error: all have this shape"}, {"content", content("Error")}};
    all["Error405"]["headers"]["Allow"] = {{"schema", {{"type", "string"}}}};
    all["Error429"]["headers"]["Retry-After"] = {{"schema", {{"type", "integer"}}}};
    return all;
}

json responses(const Endpoint& row) {
    json all;
    for (auto answer : split(row.answers, "; ")) {
        auto status = take(answer, " ");
        json response{{"description", status == "101" ? "Switching protocols" : "Success"}};
        response["headers"]["X-Request-Id"] = {{"schema", {{"type", "string"}}}};
        if (!answer.empty()) response["content"] = content(answer);
        all[std::string(status)] = std::move(response);
    }
    for (auto status : split(row.errors, " "))
        all[std::string(status)] = reference("responses", fmt::format("Error{}", status));
    all["default"] = reference("responses", "Error");
    return all;
}

json security(Caller caller) {
    const json operators{{"operator", json::array()}};
    switch (caller) {
        case Caller::anyone:
            return json::array();
        case Caller::operators:
            return json::array({operators});
        case Caller::operators_or_anyone:
            return json::array({operators, json::object()});
        case Caller::workers:
            return json::array({json{{"worker", json::array()}}});
    }
    return json::array();
}

json operation(const Endpoint& row) {
    json result{{"operationId", row.id},
                {"summary", row.summary},
                {"security", security(row.caller)},
                {"responses", responses(row)}};
    if (!row.description.empty()) result["description"] = row.description;
    for (auto name : split(row.parameters, " ")) result["parameters"].push_back(reference("parameters", name));
    if (!row.request.empty()) result["requestBody"] = {{"required", true}, {"content", content(row.request)}};
    return result;
}

std::string lowercase(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    return result;
}

json bearer(std::string_view description) {
    return {{"type", "http"}, {"scheme", "bearer"}, {"description", description}};
}

std::string make_document() {
    json document{{"openapi", "3.1.0"},
                  {"info",
                   {{"title", "Sandbox"},
                    {"version", version()},
                    {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}},
                    {"description", "Disposable coding environments: create, run commands in, delete."}}},
                  {"servers", json::array({json{{"url", "/"}}})}};
    auto& components = document["components"];
    components["schemas"] = schemas();
    components["responses"] = error_responses();
    components["securitySchemes"] = {{"operator", bearer("server.api_token")}, {"worker", bearer("server.node_token")}};
    for (const auto& row : parameters()) components["parameters"][std::string(row.name)] = parameter(row);
    for (const auto& row : endpoints())
        document["paths"][std::string(row.path)][lowercase(row.method)] = operation(row);
    return dump_json(document);
}

}  // namespace

const std::string& openapi_document() {
    static const std::string document = make_document();
    return document;
}

std::vector<std::pair<std::string, std::string>> openapi_operations() {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& row : endpoints()) all.emplace_back(row.method, row.path);
    return all;
}

}  // namespace sandbox::api
