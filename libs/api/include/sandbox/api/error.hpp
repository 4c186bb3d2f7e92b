#pragma once

#include <string>
#include <string_view>

#include <sandbox/base/error.hpp>

namespace sandbox::api {

/// An error as the API sends it: {"code","message","request_id","details"}.
struct ErrorAnswer {
    unsigned status = 500;
    std::string body;
};

/// invalid_argument 400 invalid_request, unauthenticated 401 unauthorized, not_found 404, conflict 409,
/// resource_exhausted 503 no_capacity, unavailable, deadline_exceeded and cancelled 503 unavailable,
/// permission_denied 401, internal 500 (the message is replaced: it may hold what is not the caller's business).
[[nodiscard]] ErrorAnswer to_answer(const Error& error, const std::string& request_id);

/// For what HTTP itself refuses: 400 invalid_request, 401, 404, 405 method_not_allowed, 408 request_timeout,
/// 413 payload_too_large, 429 rate_limited, 431 invalid_request, 500 internal, 503 unavailable.
[[nodiscard]] ErrorAnswer to_answer(unsigned status, std::string_view message, const std::string& request_id);

/// The client's side: an Error from any answer that is no success, whatever its body (older controllers send plain
/// text or nothing). The message ends in a readable sentence; `request_id` is filled when the body has one.
struct ReceivedError {
    Error error;
    std::string code;  // the API's code: "no_capacity"
    std::string request_id;
};
[[nodiscard]] ReceivedError from_answer(unsigned status, std::string_view body);

}  // namespace sandbox::api
