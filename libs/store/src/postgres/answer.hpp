#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sandbox/store/store.hpp>

#include "postgres/connection.hpp"

namespace sandbox::store::postgres {

/// What a verb's function in the database says (the type `answer` in migrations/0002_steps.sql).
struct Answer {
    std::string code;  // "ok" or an error's
    std::string message;
    std::string body;   // JSON
    std::string notes;  // for others

    [[nodiscard]] static Answer from(const Row& row);
    [[nodiscard]] bool ok() const noexcept { return code == "ok"; }
    [[nodiscard]] Error error() const;
};

/// Calls a statement that gives one answer.
[[nodiscard]] Result<Answer> ask(Connection& connection, const Statement& statement,
                                 const std::vector<Value>& parameters);

/// The two parameters of an Idempotency-Key. The verb belongs to the fingerprint: its answers have a shape of their
/// own.
[[nodiscard]] Value key_of(const MaybeIdempotency& once);
[[nodiscard]] Value fingerprint_of(const MaybeIdempotency& once, std::string_view verb);

/// An interval as PostgreSQL reads it.
[[nodiscard]] std::string interval(std::chrono::seconds duration);

/// An array as PostgreSQL reads it.
template <class Id>
[[nodiscard]] std::string array_of_ids(const std::vector<Id>& ids) {
    std::string text = "{";
    for (const auto& id : ids) text += (text.size() > 1 ? "," : "") + id.text();
    return text + "}";
}
/// Elements are quoted.
[[nodiscard]] std::string array_of_texts(const std::vector<std::string>& texts);

/// Ids that are separated by blanks.
template <class Id>
[[nodiscard]] std::vector<Id> ids_in(const Value& text) {
    std::vector<Id> ids;
    if (!text) return ids;
    for (std::size_t begin = 0; begin < text->size();) {
        const auto end = std::min(text->find(' ', begin), text->size());
        if (const auto id = Id::parse(std::string_view(*text).substr(begin, end - begin))) ids.push_back(*id);
        begin = end + 1;
    }
    return ids;
}

[[nodiscard]] inline bool is_true(const Value& value) {
    return value == "t";
}
[[nodiscard]] std::int64_t integer_of(const Value& value);

/// A timestamptz, in UTC as every session prints it.
[[nodiscard]] Timestamp time_of(const Value& value);

}  // namespace sandbox::store::postgres
