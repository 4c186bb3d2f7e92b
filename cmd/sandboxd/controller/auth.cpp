#include "auth.hpp"

#include <algorithm>
#include <string_view>

#include <boost/asio/ip/address_v4.hpp>

#include "respond.hpp"

namespace sandbox::sandboxd {

/// The credentials of `Authorization: Bearer …`; the scheme's case does not matter (RFC 9110).
static std::optional<std::string_view> bearer_token(const http::Request& head) {
    const auto* header = head.headers.find("Authorization");
    if (!header) return std::nullopt;
    constexpr std::string_view scheme = "bearer ";
    std::string_view value = *header;
    if (value.size() < scheme.size()) return std::nullopt;
    const bool is_bearer =
        std::ranges::equal(value.substr(0, scheme.size()), scheme, [](char a, char b) { return (a | 0x20) == b; });
    if (!is_bearer) return std::nullopt;
    value.remove_prefix(scheme.size());
    while (value.starts_with(' ')) value.remove_prefix(1);
    return value;
}

/// 127.0.0.0/8, written as an address: a name such as 127.example.com is not.
static bool is_loopback_address(std::string_view text) {
    boost::system::error_code error;
    const auto address = asio::ip::make_address_v4(std::string(text), error);
    return !error && address.is_loopback();
}

/// Without a token the server trusts every program of this machine, but no web page in a browser on it: neither one
/// that posts here from elsewhere, nor one whose own name has been pointed at this address.
static bool may_be_a_web_page(const http::Request& head) {
    if (head.headers.find("Origin") || head.headers.find("Sec-Fetch-Site")) return true;
    const auto* host = head.headers.find("Host");
    if (!host) return false;
    const auto port = host->rfind(':');
    const auto bracket = host->rfind(']');
    const bool has_port = port != std::string::npos && (bracket == std::string::npos || port > bracket);
    const auto name = std::string_view(*host).substr(0, has_port ? port : host->size());
    return name != "localhost" && name != "[::1]" && !is_loopback_address(name);
}

static Guard token_guard(Secret token, Secret previous, std::string_view name) {
    return [token = std::move(token), previous = std::move(previous),
            name](const http::Request& head) -> std::optional<http::Response> {
        if (token.empty()) {
            if (!may_be_a_web_page(head)) return std::nullopt;
            return error_response(401, "without tokens this server answers programs on this machine only, no web pages",
                                  head.request_id);
        }
        const auto given = bearer_token(head);
        if (!given)
            return error_response(
                401, std::string("this endpoint needs the header Authorization: Bearer <") + std::string(name) + ">",
                head.request_id);
        // Both are compared, always, so that the time tells nothing.
        const bool current = token.matches(*given);
        const bool former = previous.matches(*given);
        if (current || former) return std::nullopt;
        return error_response(401, std::string("the token given is not this server's ") + std::string(name),
                              head.request_id);
    };
}

Guard operator_guard(const ControllerSettings& settings) {
    return token_guard(settings.api_token, settings.previous_api_token, "API token");
}

Guard node_guard(const ControllerSettings& settings) {
    return token_guard(settings.node_token, settings.previous_node_token, "node token");
}

}  // namespace sandbox::sandboxd
