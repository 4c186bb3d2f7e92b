#include "request_check.hpp"

#include <algorithm>

#include <sandbox/http/url.hpp>

#include "text.hpp"

namespace sandbox::http {

namespace {

std::size_t count(const Headers& headers, std::string_view name) {
    return static_cast<std::size_t>(
        std::ranges::count_if(headers.all(), [&](const auto& field) { return equal_without_case(field.first, name); }));
}

bool is_host(std::string_view host) {
    return std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-._~:[]%").find(c) != std::string_view::npos;
    });
}

std::optional<std::string> check_framing(const Headers& headers, bool http_1_0) {
    auto codings = count(headers, "Transfer-Encoding");
    if (codings > 0) {
        if (http_1_0) return "Transfer-Encoding does not exist in HTTP/1.0";
        if (count(headers, "Content-Length") > 0) return "both Content-Length and Transfer-Encoding";
        if (codings > 1 || !equal_without_case(*headers.find("Transfer-Encoding"), "chunked")) {
            return "the only Transfer-Encoding here is chunked";
        }
    }
    // Others may read "1, 1" or two equal fields as one length, or not; so such a request has no one meaning.
    if (count(headers, "Content-Length") > 1) return "more than one Content-Length";
    if (const auto* length = headers.find("Content-Length");
        length && (length->empty() || length->find_first_not_of("0123456789") != std::string::npos)) {
        return "Content-Length is no number";
    }
    if (const auto* expect = headers.find("Expect"); expect && !equal_without_case(*expect, "100-continue")) {
        return "the only Expect here is 100-continue";
    }
    return std::nullopt;
}

// http://host/path becomes /path, and its host replaces the field, as RFC 9112 wants.
std::optional<std::string> to_origin_form(Request& request) {
    std::string_view target = request.target;
    for (std::string_view scheme : {"http://", "https://"}) {
        if (!equal_without_case(target.substr(0, scheme.size()), scheme)) continue;
        auto rest = target.substr(scheme.size());
        auto end = std::min(rest.find_first_of("/?"), rest.size());
        auto host = rest.substr(0, end);
        if (host.empty() || !is_host(host)) return "the target's host is malformed";
        std::string origin(rest.substr(end));
        if (!origin.starts_with('/')) origin.insert(0, "/");
        request.headers.set("Host", std::string(host));
        request.target = std::move(origin);
        return std::nullopt;
    }
    return "the target must be a path";
}

}  // namespace

std::optional<std::string> check_request(Request& request, bool http_1_0) {
    if (auto problem = check_framing(request.headers, http_1_0)) return problem;

    auto hosts = count(request.headers, "Host");
    if (hosts > 1) return "more than one Host";
    if (hosts == 0 && !http_1_0) return "the Host field is missing";
    if (hosts == 1 && !is_host(*request.headers.find("Host"))) return "the Host field is malformed";

    if (!is_visible_ascii(request.target) || request.target.find('#') != std::string::npos) {
        return "the target holds characters that must be percent-encoded";
    }
    if (!request.target.starts_with('/')) {
        if (auto problem = to_origin_form(request)) return problem;
    }
    auto question = std::min(request.target.find('?'), request.target.size());
    auto path = percent_decode(std::string_view(request.target).substr(0, question));
    if (!path || path->find('\0') != std::string::npos) return "the path holds a malformed percent-encoding";
    request.path = std::move(*path);
    if (question < request.target.size()) {
        auto query = parse_query(std::string_view(request.target).substr(question + 1));
        if (!query) return query.error().message();
        for (const auto& [name, value] : *query) {
            if (name.find('\0') != std::string::npos || value.find('\0') != std::string::npos) {
                return "the query holds a NUL";
            }
        }
        request.query = std::move(*query);
    }
    return std::nullopt;
}

}  // namespace sandbox::http
