#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::config {

/// A rule that the text of a setting must keep, with the words that say it: "must be …".
struct Form {
    std::string_view expects;
    bool (*holds)(std::string_view text);
};

/// host:port taken apart; the host is an IP address without brackets, or localhost.
struct BindAddress {
    std::string host;
    std::uint16_t port = 0;
};
[[nodiscard]] std::optional<BindAddress> parse_bind(std::string_view text);
/// 127.0.0.0/8, ::1 and localhost. False for what is no bind address.
[[nodiscard]] bool is_loopback_bind(std::string_view text);
/// scheme://host[:port][/path] without user, password, query or fragment.
[[nodiscard]] bool is_plain_url(std::string_view text, std::string_view scheme);

namespace form {

inline constexpr std::size_t kTokenMinBytes = 32;

extern const Form kNotEmpty;
extern const Form kBind;
extern const Form kToken;
extern const Form kDatabaseUrl;
extern const Form kNatsUrls;
extern const Form kSubject;
extern const Form kHttpUrl;
extern const Form kPlainHttpUrl;  // http alone
extern const Form kDockerHost;
extern const Form kAbsolutePath;
extern const Form kName;  // of a network, container or runtime: at most 128 of [A-Za-z0-9._-]
extern const Form kNameOrEmpty;
extern const Form kShortName;  // at most 40
extern const Form kBaseDomain;
extern const Form kHostNames;  // one element of a list of host names
extern const Form kScheme;     // http or https
extern const Form kEdge;       // embedded or traefik
extern const Form kCidr;
extern const Form kHostPort;

}  // namespace form
}  // namespace sandbox::config
