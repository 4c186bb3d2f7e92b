#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace sandbox {

/// What went wrong, as far as a caller may branch on it. Everything finer is for people, in the message.
enum class Code {
    invalid_argument,
    unauthenticated,
    permission_denied,
    not_found,
    conflict,
    resource_exhausted,
    deadline_exceeded,
    cancelled,
    unavailable,
    internal,
};

/// The code's spelling: "invalid_argument".
[[nodiscard]] std::string_view to_text(Code code) noexcept;

/// An error on its way to a person: a sentence that says what is wrong and, where we know it, what to do.
/// Never holds a secret. Cheap to move.
class Error {
public:
    Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

    /// The same error seen from one step further out: "connect to PostgreSQL: timed out after 5 s".
    [[nodiscard]] Error in(std::string_view context) &&;

    /// The same error with a JSON object (as text) for programs, such as the gate counts of a refused placement.
    [[nodiscard]] Error with_details(std::string json_object) &&;

    [[nodiscard]] Code code() const noexcept { return code_; }
    [[nodiscard]] const std::string& message() const noexcept { return message_; }
    /// A JSON object as text, or empty when there is none.
    [[nodiscard]] const std::string& details() const noexcept { return details_; }

private:
    Code code_;
    std::string message_;
    std::string details_;
};

template <class T>
using Result = std::expected<T, Error>;

/// Shorthand for the failing branch of a Result: return fail(Code::not_found, "no sandbox has this id").
[[nodiscard]] inline std::unexpected<Error> fail(Code code, std::string message) {
    return std::unexpected<Error>(Error(code, std::move(message)));
}

/// Passes an error on: return fail(std::move(result.error()).in("create volume")).
[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
    return std::unexpected<Error>(std::move(error));
}

/// A broken invariant: says where and why on standard error and aborts. Never for what a user, a peer or the
/// environment can cause.
[[noreturn]] void broken_invariant(std::string_view what);

}  // namespace sandbox
