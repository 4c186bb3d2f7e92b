#include "postgres/answer.hpp"

#include <stdexcept>

namespace sandbox::store::postgres {

Answer Answer::from(const Row& row) {
    return {.code = row.at(0).value_or(""),
            .message = row.at(1).value_or(""),
            .body = row.at(2).value_or(""),
            .notes = row.at(3).value_or("")};
}

Error Answer::error() const {
    if (code == "not_found") return Error(Code::not_found, message);
    if (code == "conflict") return Error(Code::conflict, message);
    if (code == "invalid_argument") return Error(Code::invalid_argument, message);
    return Error(Code::internal, "the database gave an answer that is not understood: " + code + " " + message);
}

Result<Answer> ask(Connection& connection, const Statement& statement, const std::vector<Value>& parameters) {
    auto rows = connection.query(statement, parameters);
    if (!rows) return fail(std::move(rows.error()));
    return Answer::from(rows->at(0));
}

Value key_of(const MaybeIdempotency& once) {
    return once ? Value(once->key) : std::nullopt;
}

Value fingerprint_of(const MaybeIdempotency& once, std::string_view verb) {
    return once ? Value(std::string(verb) + " " + once->fingerprint) : std::nullopt;
}

std::string interval(std::chrono::seconds duration) {
    return std::to_string(duration.count()) + " seconds";
}

std::string array_of_texts(const std::vector<std::string>& texts) {
    std::string array = "{";
    for (const auto& text : texts) {
        array += array.size() > 1 ? ",\"" : "\"";
        for (const char c : text) {
            if (c == '"' || c == '\\') array += '\\';
            array += c;
        }
        array += '"';
    }
    return array + "}";
}

std::int64_t integer_of(const Value& value) {
    return std::stoll(value.value());
}

Timestamp time_of(const Value& value) {
    // 2026-11-30 03:04:05.123456+00
    auto text = value.value();
    if (text.size() > 10) text[10] = 'T';
    if (text.ends_with("+00")) text += ":00";
    const auto time = parse_time(text);
    if (!time) throw std::runtime_error(time.error().message());
    return *time;
}

}  // namespace sandbox::store::postgres
