#include "forms.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <sandbox/domain/validation.hpp>

namespace sandbox::config {
namespace {

template <class Integer>
std::optional<Integer> parse_number(std::string_view text) {
    Integer value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool is_address(int family, const std::string& text) {
    in6_addr space{};
    return inet_pton(family, text.c_str(), &space) == 1;
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

bool is_name(std::string_view text, std::size_t limit) {
    return !text.empty() && text.size() <= limit && std::ranges::all_of(text, is_name_character);
}

bool is_host_name(std::string_view text, std::size_t min_labels) {
    if (text.empty() || text.size() > 253) return false;
    std::size_t labels = 0;
    while (true) {
        const auto dot = text.find('.');
        if (!domain::is_dns_label(text.substr(0, dot))) return false;
        ++labels;
        if (dot == std::string_view::npos) return labels >= min_labels;
        text.remove_prefix(dot + 1);
    }
}

bool is_visible(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_nats_url_list(std::string_view text) {
    while (true) {
        const auto comma = text.find(',');
        const auto url = text.substr(0, comma);
        if (!is_visible(url)) return false;
        if (!(url.starts_with("nats://") && url.size() > 7) && !(url.starts_with("tls://") && url.size() > 6))
            return false;
        if (comma == std::string_view::npos) return true;
        text.remove_prefix(comma + 1);
    }
}

/// A subject that can be published on: tokens between dots, no wildcards.
bool is_subject(std::string_view text) {
    if (text.empty() || text.size() > 255 || !is_visible(text)) return false;
    if (text.find_first_of("*>") != std::string_view::npos) return false;
    return !text.starts_with('.') && !text.ends_with('.') && text.find("..") == std::string_view::npos;
}

bool is_docker_host(std::string_view text) {
    if (text.starts_with("unix://")) return text.size() > 8 && text[7] == '/' && is_visible(text);
    return is_plain_url(text, "tcp");
}

bool is_cidr(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return false;
    const std::string address(text.substr(0, slash));
    const auto bits = parse_number<unsigned>(text.substr(slash + 1));
    if (!bits) return false;
    return (is_address(AF_INET, address) && *bits <= 32) || (is_address(AF_INET6, address) && *bits <= 128);
}

bool is_host_port(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return false;
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    if (!port || *port == 0) return false;
    auto host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']'))
        return is_address(AF_INET6, std::string(host.substr(1, host.size() - 2)));
    return is_address(AF_INET, std::string(host)) || is_host_name(host, 1);
}

}  // namespace

std::optional<BindAddress> parse_bind(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    if (!port) return std::nullopt;
    std::string host(text.substr(0, colon));
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        if (!is_address(AF_INET6, host)) return std::nullopt;
    } else if (host != "localhost" && !is_address(AF_INET, host)) {
        return std::nullopt;
    }
    return BindAddress{std::move(host), *port};
}

bool is_loopback_bind(std::string_view text) {
    const auto address = parse_bind(text);
    if (!address) return false;
    if (address->host == "localhost") return true;
    if (address->host.find(':') == std::string::npos) return address->host.starts_with("127.");
    in6_addr bytes{};
    return inet_pton(AF_INET6, address->host.c_str(), &bytes) == 1 && IN6_IS_ADDR_LOOPBACK(&bytes);
}

bool is_plain_url(std::string_view text, std::string_view scheme) {
    const auto url = boost::urls::parse_uri(text);
    if (!url || url->scheme() != scheme || url->host().empty()) return false;
    if (url->has_port() && url->port_number() == 0) return false;
    return !url->has_userinfo() && !url->has_query() && !url->has_fragment();
}

namespace form {

const Form kNotEmpty{"text that is not empty", [](std::string_view text) { return !text.empty(); }};
const Form kBind{"an IP address or localhost with a port, such as 0.0.0.0:8080 or [::]:8080",
                 [](std::string_view text) { return parse_bind(text).has_value(); }};
const Form kToken{"at least 32 visible ASCII characters, such as openssl rand -hex 32 prints",
                  [](std::string_view text) { return text.size() >= kTokenMinBytes && is_visible(text); }};
const Form kDatabaseUrl{"a URL that begins with postgres:// or postgresql://", [](std::string_view text) {
                            return text.starts_with("postgres://") || text.starts_with("postgresql://");
                        }};
const Form kNatsUrls{"one or more nats:// or tls:// URLs, comma separated", is_nats_url_list};
const Form kSubject{"a NATS subject without wildcards, such as sandbox.events", is_subject};
const Form kHttpUrl{"an http:// or https:// URL without user, query or fragment",
                    [](std::string_view text) { return is_plain_url(text, "http") || is_plain_url(text, "https"); }};
const Form kPlainHttpUrl{"an http:// URL without user, query or fragment",
                         [](std::string_view text) { return is_plain_url(text, "http"); }};
const Form kDockerHost{"unix:///path or tcp://host:port", is_docker_host};
const Form kAbsolutePath{"an absolute path", [](std::string_view text) { return text.starts_with('/'); }};
const Form kName{"1 to 128 of A-Z, a-z, 0-9, dot, underscore and hyphen",
                 [](std::string_view text) { return is_name(text, 128); }};
const Form kNameOrEmpty{"at most 128 of A-Z, a-z, 0-9, dot, underscore and hyphen",
                        [](std::string_view text) { return text.empty() || is_name(text, 128); }};
const Form kShortName{"1 to 40 of A-Z, a-z, 0-9, dot, underscore and hyphen",
                      [](std::string_view text) { return is_name(text, 40); }};
const Form kBaseDomain{"a lowercase domain of at least two labels, such as tunnel.example.com",
                       [](std::string_view text) { return is_host_name(text, 2); }};
const Form kHostNames{"a list of lowercase host names", [](std::string_view text) { return is_host_name(text, 1); }};
const Form kScheme{"http or https", [](std::string_view text) { return text == "http" || text == "https"; }};
const Form kEdge{"embedded or traefik", [](std::string_view text) { return text == "embedded" || text == "traefik"; }};
const Form kCidr{"a list of networks such as 10.0.0.0/8 or fd00::/8", is_cidr};
const Form kHostPort{"a list of host:port pairs, such as 10.0.0.5:3128", is_host_port};

}  // namespace form
}  // namespace sandbox::config
