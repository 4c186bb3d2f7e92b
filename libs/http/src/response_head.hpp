#pragma once

#include <string>
#include <string_view>

#include <sandbox/http/message.hpp>

namespace sandbox::http {

/// How the end of a response's body is told.
enum class Framing { length, chunked, until_close, none };

/// The head of a response as bytes. Fields that frame the message come from the arguments, never from the handler;
/// control characters in values become blanks.
[[nodiscard]] std::string response_head(const Response& response, const Request& request, Framing framing,
                                        bool http_1_0, bool keep_alive);

/// Whether a status never has a body: 1xx, 204, 304.
[[nodiscard]] constexpr bool is_bodiless(unsigned status) {
    return status < 200 || status == 204 || status == 304;
}

/// "Not Found" for 404.
[[nodiscard]] std::string_view reason_phrase(unsigned status);

/// Appends "name: value\r\n" with control characters in the value made blanks.
void append_field(std::string& head, std::string_view name, std::string_view value);

}  // namespace sandbox::http
