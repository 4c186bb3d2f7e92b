#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/error.hpp>

namespace sandbox {

/// Parses one JSON document strictly: well-formed UTF-8, depth at most 64, no key twice in an object, no NUL in a
/// string or key, nothing after the document. Errors: invalid_argument with line and column or path.
/// The output of commands is bytes and may hold NUL: `may_hold_nul` names such strings by the end of their path
/// ("output.stdout" for operation.output.stdout too), or all below a path from the top by "params.arguments.*".
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text,
                                                std::span<const std::string_view> may_hold_nul = {});

/// JSON text of a value. Bytes that are not UTF-8 become U+FFFD; never throws on content.
[[nodiscard]] std::string dump_json(const nlohmann::json& value);
/// The same, indented by two spaces, for people.
[[nodiscard]] std::string dump_json_pretty(const nlohmann::json& value);

/// What is wrong with one document: all of it is gathered, then reported together.
class Problems {
public:
    /// Path in the form spec.resources.cpu_millis or command.argv[0]; "" for the document itself.
    void add(std::string_view path, std::string_view what);
    [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
    [[nodiscard]] const std::vector<std::string>& items() const noexcept { return items_; }
    /// invalid_argument with every problem (the first twenty), joined by "; ".
    [[nodiscard]] Error to_error() const;
    /// Whether no more are kept: a hostile document has a problem in every field.
    [[nodiscard]] bool full() const noexcept { return items_.size() >= kMost; }

private:
    static constexpr std::size_t kMost = 100;
    std::vector<std::string> items_;
    std::size_t left_out_ = 0;
};

/// Operator requests and configuration refuse a field that does not exist; peers of another version are forgiven.
enum class UnknownFields { refuse, ignore };

/// Reads one JSON object field by field. Every getter notes a problem with its path and returns a default when the
/// field has the wrong type or range, so that reading goes on and all problems come out together. An absent field and
/// null are the same. Lives for one reading; keeps references to the value and the problems.
class ObjectReader {
public:
    ObjectReader(const nlohmann::json& value, std::string path, Problems& problems, UnknownFields unknown);
    ObjectReader(const ObjectReader&) = delete;
    ObjectReader& operator=(const ObjectReader&) = delete;

    /// Required forms: an absent field is a problem. A failed integer is `min`.
    [[nodiscard]] std::string string(std::string_view name);
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t min, std::int64_t max);
    [[nodiscard]] bool boolean(std::string_view name);

    /// Optional forms: nullopt (or the given default) when absent or null.
    [[nodiscard]] std::optional<std::string> optional_string(std::string_view name);
    [[nodiscard]] std::optional<std::int64_t> optional_integer(std::string_view name, std::int64_t min,
                                                               std::int64_t max);
    [[nodiscard]] std::optional<double> optional_number(std::string_view name, double min, double max);
    [[nodiscard]] bool boolean_or(std::string_view name, bool otherwise);
    [[nodiscard]] std::vector<std::string> strings(std::string_view name);
    [[nodiscard]] std::map<std::string, std::string> string_map(std::string_view name);

    /// One of the names in `table` (text → value); the problem lists what is allowed. `otherwise` when absent;
    /// a problem when absent and there is no `otherwise`.
    template <class E, class Table>
    [[nodiscard]] E enumeration(std::string_view name, const Table& table, std::optional<E> otherwise) {
        auto text = otherwise ? optional_string(name) : std::optional<std::string>(string(name));
        if (!text) return *otherwise;
        std::string allowed;
        for (const auto& [value_name, value] : table) {
            if (value_name == *text) return value;
            if (!allowed.empty()) allowed += ", ";
            allowed += value_name;
        }
        if (has(name)) problem(name, "must be one of " + allowed);
        return otherwise.value_or(E{});
    }

    /// The raw field, nullptr when absent or null. Marks it as known.
    [[nodiscard]] const nlohmann::json* field(std::string_view name);
    [[nodiscard]] bool has(std::string_view name);
    /// The same as `field`; its absence is a problem.
    [[nodiscard]] const nlohmann::json* required_field(std::string_view name);
    /// The elements of an array field with their paths; empty when absent. A problem when it is no array.
    struct Element {
        const nlohmann::json& value;
        std::string path;
    };
    [[nodiscard]] std::vector<Element> array(std::string_view name);

    [[nodiscard]] std::string path_of(std::string_view name) const;
    void problem(std::string_view name, std::string_view what);
    [[nodiscard]] Problems& problems() noexcept { return problems_; }
    [[nodiscard]] UnknownFields unknown() const noexcept { return unknown_; }

    /// Notes every field that no getter asked for, with the nearest real one, when unknown fields are refused.
    /// Call it last.
    void finish();

private:
    const nlohmann::json* object_;  // nullptr when the value is no object (already noted)
    std::string path_;
    Problems& problems_;
    UnknownFields unknown_;
    std::vector<std::string> known_;
};

}  // namespace sandbox
