#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sandbox/base/error.hpp>
#include <sandbox/http/message.hpp>

namespace sandbox::http {

/// A server's address: http, https or a Unix socket (unix:///var/run/docker.sock).
struct Url {
    enum class Scheme { http, https, unix_socket } scheme = Scheme::http;
    std::string host;  // without brackets; the socket's path for unix_socket
    std::uint16_t port = 80;
    std::string path_prefix;  // "" or "/sandbox", without a slash at its end

    /// http[s]://host[:port][/prefix] or unix:///path or tcp://host:port. No user, password, query or fragment.
    /// Errors: invalid_argument with what is wrong.
    [[nodiscard]] static Result<Url> parse(std::string_view text);
    /// The URL as text again, without a slash at its end.
    [[nodiscard]] std::string text() const;
    /// The Host header's value.
    [[nodiscard]] std::string host_header() const;
};

/// Percent-encodes all but unreserved characters.
[[nodiscard]] std::string percent_encode(std::string_view text);
/// Decodes %XX ('+' stays). nullopt when malformed.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
/// a=1&b=2 with everything encoded.
[[nodiscard]] std::string encode_query(const Query& query);
/// Errors: invalid_argument for malformed encodings. '+' is a space.
[[nodiscard]] Result<Query> parse_query(std::string_view text);

}  // namespace sandbox::http
