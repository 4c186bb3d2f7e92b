#include "auth.hpp"

#include <algorithm>
#include <string_view>

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

static Guard token_guard(Secret token, Secret previous, std::string_view name) {
    return [token = std::move(token), previous = std::move(previous),
            name](const http::Request& head) -> std::optional<http::Response> {
        if (token.empty()) return std::nullopt;
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
