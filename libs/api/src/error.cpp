#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/error.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

namespace sandbox::api {
namespace {

constexpr std::size_t kMessageLimit = 4096;
constexpr std::size_t kForeignLimit = 300;
constexpr std::size_t kIdLimit = 128;
constexpr std::string_view kInternal = "the server met an error of its own; its log says more under this request id";

/// The API's codes, with what a client's program may make of them.
struct Row {
    std::string_view name;
    unsigned status;
    Code code;
};
constexpr Row kRows[] = {
    {"invalid_request", 400, Code::invalid_argument},
    {"unauthorized", 401, Code::unauthenticated},
    {"not_found", 404, Code::not_found},
    {"method_not_allowed", 405, Code::invalid_argument},
    {"request_timeout", 408, Code::deadline_exceeded},
    {"conflict", 409, Code::conflict},
    {"payload_too_large", 413, Code::invalid_argument},
    {"rate_limited", 429, Code::unavailable},
    {"internal", 500, Code::internal},
    {"unavailable", 503, Code::unavailable},
    {"no_capacity", 503, Code::resource_exhausted},
};

/// The first row of a status; what has none is a client's error below 500 and a passing one above.
const Row& row_of(unsigned status) {
    const auto* exact = std::ranges::find(kRows, status, &Row::status);
    if (exact != std::end(kRows)) return *exact;
    return *std::ranges::find(kRows, status < 500 ? 400U : 503U, &Row::status);
}

std::string_view name_of(Code code) {
    switch (code) {
        case Code::invalid_argument:
            return "invalid_request";
        case Code::unauthenticated:
        case Code::permission_denied:
            return "unauthorized";
        case Code::not_found:
            return "not_found";
        case Code::conflict:
            return "conflict";
        case Code::resource_exhausted:
            return "no_capacity";
        case Code::deadline_exceeded:
        case Code::cancelled:
        case Code::unavailable:
            return "unavailable";
        case Code::internal:
            break;
    }
    return "internal";
}

std::string body(std::string_view code, std::string_view message, const std::string& request_id,
                 nlohmann::json details) {
    return dump_json({{"code", code},
                      {"message", shortened(message, kMessageLimit)},
                      {"request_id", request_id},
                      {"details", std::move(details)}});
}

std::string_view reason_phrase(unsigned status) {
    constexpr std::pair<unsigned, std::string_view> kPhrases[] = {{301, "Moved Permanently"},
                                                                  {302, "Found"},
                                                                  {307, "Temporary Redirect"},
                                                                  {308, "Permanent Redirect"},
                                                                  {400, "Bad Request"},
                                                                  {401, "Unauthorized"},
                                                                  {403, "Forbidden"},
                                                                  {404, "Not Found"},
                                                                  {405, "Method Not Allowed"},
                                                                  {408, "Request Timeout"},
                                                                  {409, "Conflict"},
                                                                  {413, "Payload Too Large"},
                                                                  {415, "Unsupported Media Type"},
                                                                  {422, "Unprocessable Entity"},
                                                                  {429, "Too Many Requests"},
                                                                  {431, "Request Header Fields Too Large"},
                                                                  {500, "Internal Server Error"},
                                                                  {502, "Bad Gateway"},
                                                                  {503, "Service Unavailable"},
                                                                  {504, "Gateway Timeout"}};
    for (const auto& [number, phrase] : kPhrases)
        if (number == status) return phrase;
    return "";
}

/// One line that a terminal can show: what a server sends may hold its control sequences.
std::string one_line(std::string_view text, std::size_t limit) {
    auto clean = to_utf8(text.substr(0, limit + 4));
    for (auto& c : clean)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    auto first = clean.find_first_not_of(' ');
    if (first == std::string::npos) return "";
    clean = clean.substr(first, clean.find_last_not_of(' ') - first + 1);
    // C1 controls (U+0080 to U+009F) are two bytes in UTF-8.
    for (std::size_t i = 0; i + 1 < clean.size(); ++i)
        if (clean[i] == '\xc2' && static_cast<unsigned char>(clean[i + 1]) < 0xa0) clean[i] = clean[i + 1] = ' ';
    return shortened(clean, limit);
}

std::string sentence(unsigned status, std::string_view foreign) {
    auto phrase = reason_phrase(status);
    auto answer = phrase.empty() ? fmt::format("the server answered {}", status)
                                 : fmt::format("the server answered {} {}", status, phrase);
    if (status >= 300 && status < 400) return answer + "; the address of the server is probably not right";
    if (foreign.starts_with('<')) return answer + " with a page for browsers, so it may come from a proxy in between";
    auto said = one_line(foreign, kForeignLimit);
    if (said.empty() || said == phrase) return answer;
    return answer + ": " + said;
}

std::string text_at(const nlohmann::json& object, const char* name, std::size_t limit) {
    auto found = object.find(name);
    if (found == object.end() || !found->is_string()) return "";
    return one_line(found->get_ref<const std::string&>(), limit);
}

/// What a body that is a JSON object says is wrong: ours, or another program's {"error": "…"}.
std::string message_in(const nlohmann::json& object) {
    auto message = text_at(object, "message", kMessageLimit);
    return message.empty() ? text_at(object, "error", kMessageLimit) : message;
}

}  // namespace

ErrorAnswer to_answer(const Error& error, const std::string& request_id) {
    auto name = name_of(error.code());
    const auto& row = *std::ranges::find(kRows, name, &Row::name);
    auto details = nlohmann::json::object();
    if (row.code == Code::internal) return {row.status, body(name, kInternal, request_id, std::move(details))};
    if (!error.details().empty())
        if (auto parsed = parse_json(error.details()); parsed && parsed->is_object()) details = std::move(*parsed);
    return {row.status, body(name, error.message(), request_id, std::move(details))};
}

ErrorAnswer to_answer(unsigned status, std::string_view message, const std::string& request_id) {
    const auto& row = row_of(status);
    return {status,
            body(row.name, row.code == Code::internal ? kInternal : message, request_id, nlohmann::json::object())};
}

ReceivedError from_answer(unsigned status, std::string_view body) {
    const auto* row = &row_of(status);
    auto parsed = parse_json(body);
    if (!parsed || !parsed->is_object()) return {Error(row->code, sentence(status, body)), std::string(row->name), ""};

    // A name that this program does not know yet is passed on; programs go by the status then.
    auto name = text_at(*parsed, "code", kIdLimit);
    const auto* known = std::ranges::find(kRows, name, &Row::name);
    if (known != std::end(kRows)) row = known;
    auto message = message_in(*parsed);
    Error error(row->code, message.empty() ? sentence(status, "") : message);
    if (auto details = parsed->find("details"); details != parsed->end() && details->is_object() && !details->empty())
        error = std::move(error).with_details(dump_json(*details));
    return {std::move(error), name.empty() ? std::string(row->name) : name, text_at(*parsed, "request_id", kIdLimit)};
}

}  // namespace sandbox::api
