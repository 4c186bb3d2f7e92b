#pragma once

#include <span>
#include <string_view>
#include <vector>

/// What the OpenAPI document is made from: the API's endpoints and shapes as rows to be read at a glance.
namespace sandbox::api {

/// One property. `type` is TYPE, "?" when it may be null, a range, a default:
///     string | uuid | time | boolean | integer | number | object | {string} | const NAME | #Schema | [TYPE]
///     "string? 1..128", "integer 1..86400 = 300", "[#Tunnel]", "{string} = {}"
/// A range counts characters of strings and elements of arrays. The upper end may be left open.
struct Field {
    std::string_view name;
    std::string_view type;
    std::string_view description = "";
};

/// What is always written has every property; what is read needs only those without a default.
enum class Use { written, read };

struct Schema {
    std::string_view name;
    std::string_view description;
    Use use;
    std::vector<Field> fields;
};

/// Shapes of operators' requests and of answers.
[[nodiscard]] std::vector<Schema> operator_schemas();
/// Shapes that only workers send or get.
[[nodiscard]] std::vector<Schema> worker_schemas();
/// What an endpoint takes or gives beside an entity itself.
[[nodiscard]] std::vector<Schema> envelope_schemas();

/// An enumeration: its name and the spellings, which are the domain's own tables.
struct Enumeration {
    std::string_view name;
    std::string_view description;
    std::vector<std::string_view> spellings;
};
[[nodiscard]] std::vector<Enumeration> enumerations();

struct Parameter {
    std::string_view name;  // in the document's components
    std::string_view in;    // path, query or header
    std::string_view wire_name;
    std::string_view type;  // as in Field
    std::string_view description;
};
[[nodiscard]] std::span<const Parameter> parameters();

/// Whose token an endpoint asks for.
enum class Caller { anyone, operators, operators_or_anyone, workers };

struct Endpoint {
    std::string_view method;
    std::string_view path;
    Caller caller;
    std::string_view id;  // operationId
    std::string_view summary;
    std::string_view parameters;  // names, separated by spaces
    std::string_view request;     // schema of the body; "" when it takes none
    /// "202 OperationAnswer", several separated by "; "; a status alone has no body, and "stream" behind the schema
    /// says that the answer may be server-sent events too.
    std::string_view answers;
    std::string_view errors;  // statuses
    std::string_view description = "";
};
[[nodiscard]] std::span<const Endpoint> endpoints();

}  // namespace sandbox::api
