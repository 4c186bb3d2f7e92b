#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

#include "options.hpp"

namespace sandbox::mcp {

inline constexpr std::string_view kNoId = "must be a whole id: a UUID of 36 characters";

/// A base, so that it is there before the reader that refers to it.
struct HeldProblems {
    Problems held;
};

/// Reads a tool's arguments; every problem comes out together. Lives for one reading.
class Arguments : private HeldProblems, public ObjectReader {
public:
    explicit Arguments(const nlohmann::json& arguments)
        : ObjectReader(arguments, "", held, UnknownFields::refuse), arguments_(arguments) {}

    /// A required id. Nil after a problem.
    template <class Id>
    [[nodiscard]] Id id(std::string_view name) {
        const auto* value = field(name);
        const auto given = string(name);
        if (const auto id = Id::parse(given)) return *id;
        if (value != nullptr && value->is_string()) problem(name, kNoId);
        return {};
    }
    [[nodiscard]] std::int64_t integer_or(std::string_view name, std::int64_t least, std::int64_t most,
                                          std::int64_t otherwise) {
        return optional_integer(name, least, most).value_or(otherwise);
    }
    /// The tenant that is named, or the run's.
    [[nodiscard]] std::string tenant(const Options& options) {
        return options.tenant && !has("tenant") ? *options.tenant : string("tenant");
    }

    /// Notes what no getter asked for, and what no schema allows though the reader forgives it: null, and NUL anywhere
    /// but in standard input. The Error of all problems, if any.
    [[nodiscard]] Result<void> end();

private:
    const nlohmann::json& arguments_;
};

/// JSON Schema counts 300.0 among the integers: makes one of it, in all of the value.
void make_integers(nlohmann::json& value);

}  // namespace sandbox::mcp
