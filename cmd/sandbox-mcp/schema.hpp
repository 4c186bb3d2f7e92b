#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "message.hpp"

/// JSON Schemas in what all model vendors understand: no $schema, $ref or $defs, no combinations, no lists of types, no
/// format. What may be null has no type, only a description.
namespace sandbox::mcp::schema {

using Properties = std::vector<std::pair<std::string, Json>>;

[[nodiscard]] Json text(std::string_view description);
[[nodiscard]] Json one_of(std::string_view description, std::initializer_list<std::string_view> values,
                          std::string_view otherwise = "");
[[nodiscard]] Json number(std::string_view description, std::int64_t least, std::int64_t most,
                          std::optional<std::int64_t> otherwise = std::nullopt);
[[nodiscard]] Json boolean(std::string_view description, std::optional<bool> otherwise = std::nullopt);
[[nodiscard]] Json texts(std::string_view description);
[[nodiscard]] Json text_map(std::string_view description);
/// A UUID.
[[nodiscard]] Json id(std::string_view description);
[[nodiscard]] Json list(std::string_view description, Json items);
/// With these properties and no others, of which the first `required` must be there.
[[nodiscard]] Json object(Properties properties, std::size_t required);
/// The same with a description.
[[nodiscard]] Json object(std::string_view description, Properties properties, std::size_t required);
/// May be null: the description alone, or with the properties that it has otherwise.
[[nodiscard]] Json or_null(std::string_view description);
[[nodiscard]] Json or_null(std::string_view description, Properties properties);

// The API's objects, as results carry them. They are open: a server or a library that says more is no error.
[[nodiscard]] Json health();
[[nodiscard]] Json sandbox();
[[nodiscard]] Json operation(std::string_view description = "What was asked of the server, and how far it is");
[[nodiscard]] Json tunnel();
[[nodiscard]] Json agent();

/// A tool's output: these members, any of them missing after an error, "note" and "error".
[[nodiscard]] Json output(Properties members);

}  // namespace sandbox::mcp::schema
