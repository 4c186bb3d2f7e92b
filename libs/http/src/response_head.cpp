#include "response_head.hpp"

#include <array>
#include <chrono>

#include <fmt/format.h>

#include "text.hpp"

namespace sandbox::http {

namespace {

// RFC 9110's IMF-fixdate, made once a second.
const std::string& date_now() {
    static thread_local std::time_t made_at = 0;
    static thread_local std::string text;
    auto now = std::time(nullptr);
    if (now != made_at) {
        made_at = now;
        std::tm utc{};
        ::gmtime_r(&now, &utc);
        static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        text = fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days[static_cast<std::size_t>(utc.tm_wday)],
                           utc.tm_mday, months[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                           utc.tm_min, utc.tm_sec);
    }
    return text;
}

bool is_framing_field(std::string_view name) {
    for (std::string_view own :
         {"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Date", "X-Request-Id"}) {
        if (equal_without_case(name, own)) return true;
    }
    return false;
}

}  // namespace

std::string_view reason_phrase(unsigned status) {
    switch (status) {
        case 101:
            return "Switching Protocols";
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 204:
            return "No Content";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 422:
            return "Unprocessable Content";
        case 426:
            return "Upgrade Required";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        default:
            return "Status";
    }
}

void append_field(std::string& head, std::string_view name, std::string_view value) {
    head += name;
    head += ": ";
    auto begin = head.size();
    head += value;
    for (auto i = begin; i < head.size(); ++i) {
        if (static_cast<unsigned char>(head[i]) < 0x20 || head[i] == 0x7f) head[i] = ' ';
    }
    head += "\r\n";
}

std::string response_head(const Response& response, const Request& request, Framing framing, bool http_1_0,
                          bool keep_alive) {
    std::string head;
    head.reserve(256);
    fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
    append_field(head, "Date", date_now());
    append_field(head, "X-Request-Id", request.request_id);
    for (const auto& [name, value] : response.headers.all()) {
        if (!is_framing_field(name)) append_field(head, name, value);
    }
    if (framing == Framing::length) append_field(head, "Content-Length", std::to_string(response.body.size()));
    if (framing == Framing::chunked) append_field(head, "Transfer-Encoding", "chunked");
    if (response.status == 101)
        append_field(head, "Connection", "Upgrade");
    else if (!keep_alive)
        append_field(head, "Connection", "close");
    else if (http_1_0)
        append_field(head, "Connection", "keep-alive");
    head += "\r\n";
    return head;
}

}  // namespace sandbox::http
