#include <boost/url/encode.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/pct_string_view.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <boost/url/url_view.hpp>
#include <fmt/format.h>

#include <sandbox/http/url.hpp>

namespace sandbox::http {

namespace {

constexpr std::string_view kUnixScheme = "unix://";

std::uint16_t default_port(Url::Scheme scheme) {
    return scheme == Url::Scheme::https ? 443 : 80;
}

// Never repeats the text: someone may have put a password into it.
std::unexpected<Error> bad_url(std::string_view what) {
    return fail(Code::invalid_argument, fmt::format("not a usable URL: {}", what));
}

Result<Url> parse_unix(std::string_view path) {
    if (path.empty() || path.front() != '/') return bad_url("unix:// wants an absolute path, as in unix:///run/x.sock");
    if (path.find('\0') != std::string_view::npos) return bad_url("the path holds a NUL");
    if (path.size() > 107) return bad_url("the socket's path is longer than 107 bytes");
    return Url{.scheme = Url::Scheme::unix_socket, .host = std::string(path), .port = 0, .path_prefix = {}};
}

bool is_host_name(std::string_view host) {
    return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
               c == '_';
    });
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
    if (text.starts_with(kUnixScheme)) return parse_unix(text.substr(kUnixScheme.size()));

    auto parsed = boost::urls::parse_uri(boost::core::string_view(text.data(), text.size()));
    if (!parsed) return bad_url("write it as http://host:port, https://host:port or unix:///path");
    const boost::urls::url_view& view = *parsed;
    if (view.has_userinfo()) return bad_url("it must not hold a user or password");
    if (view.has_query() || view.has_fragment()) return bad_url("it must not hold a query or fragment");

    Url url;
    auto scheme = view.scheme();
    if (scheme == "http" || scheme == "tcp")
        url.scheme = Scheme::http;
    else if (scheme == "https")
        url.scheme = Scheme::https;
    else
        return bad_url("the scheme must be http, https, tcp or unix");

    url.host = std::string(view.host_address());
    bool is_ipv6 = view.host_type() == boost::urls::host_type::ipv6;
    if (!is_ipv6 && !is_host_name(url.host)) return bad_url("the host is missing or malformed");

    url.port = default_port(url.scheme);
    if (view.has_port() && !view.port().empty()) {
        url.port = view.port_number();
        // Boost.URL 1.81 lets a number past 65535 wrap around to another port.
        const std::string_view digits(view.port().data(), view.port().size());
        if (digits.size() > 5 || std::stoi(std::string(digits)) != url.port) url.port = 0;
        if (url.port == 0) return bad_url("the port must be 1 to 65535");
    }

    url.path_prefix = std::string(view.encoded_path());
    // Boost.URL 1.81 takes http://host:8x/y for port 8 and path "x/y".
    if (!url.path_prefix.empty() && url.path_prefix.front() != '/') return bad_url("the port must be a number");
    while (url.path_prefix.ends_with('/')) url.path_prefix.pop_back();
    return url;
}

std::string Url::text() const {
    switch (scheme) {
        case Scheme::unix_socket:
            return fmt::format("{}{}", kUnixScheme, host);
        case Scheme::https:
            return fmt::format("https://{}{}", host_header(), path_prefix);
        case Scheme::http:
            break;
    }
    return fmt::format("http://{}{}", host_header(), path_prefix);
}

std::string Url::host_header() const {
    if (scheme == Scheme::unix_socket) return "localhost";
    auto name = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
    return port == default_port(scheme) ? name : fmt::format("{}:{}", name, port);
}

std::string percent_encode(std::string_view text) {
    return boost::urls::encode(boost::core::string_view(text.data(), text.size()), boost::urls::unreserved_chars);
}

std::optional<std::string> percent_decode(std::string_view text) {
    auto checked = boost::urls::make_pct_string_view(boost::core::string_view(text.data(), text.size()));
    if (!checked) return std::nullopt;
    return checked->decode();
}

std::string encode_query(const Query& query) {
    std::string text;
    for (const auto& [name, value] : query) {
        if (!text.empty()) text += '&';
        text += percent_encode(name);
        text += '=';
        text += percent_encode(value);
    }
    return text;
}

Result<Query> parse_query(std::string_view text) {
    Query query;
    auto decode = [](std::string_view part) {
        std::string spaced(part);
        std::ranges::replace(spaced, '+', ' ');
        return percent_decode(spaced);
    };
    while (!text.empty()) {
        auto end = std::min(text.find('&'), text.size());
        auto pair = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (pair.empty()) continue;
        auto equals = std::min(pair.find('='), pair.size());
        auto name = decode(pair.substr(0, equals));
        auto value = decode(equals < pair.size() ? pair.substr(equals + 1) : std::string_view());
        if (!name || !value) {
            return fail(Code::invalid_argument, "the query holds a malformed percent-encoding");
        }
        query.emplace_back(std::move(*name), std::move(*value));
    }
    return query;
}

}  // namespace sandbox::http
