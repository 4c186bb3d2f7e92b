// The first byte says which reader gets the rest: a URL, a query, percent encoding, or a whole connection of requests.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sandbox/base/error.hpp>
#include <sandbox/http/url.hpp>

#include "parser.hpp"
#include "request_check.hpp"

namespace sandbox::http {
namespace {

void must(bool holds, const char* what) {
    if (!holds) broken_invariant(what);
}

void read_url(std::string_view text) {
    auto url = Url::parse(text);
    if (!url) return;
    auto again = Url::parse(url->text());
    must(again && again->text() == url->text(), "a URL's text is the same URL");
    must(url->scheme == Url::Scheme::unix_socket || url->host.find_first_of(" /@\r\n") == std::string::npos,
         "a host is a host");
}

void read_query(std::string_view text) {
    auto query = parse_query(text);
    if (query) must(parse_query(encode_query(*query)) == *query, "a query goes there and back");
}

void read_percent(std::string_view text) {
    must(percent_decode(percent_encode(text)) == text, "bytes go there and back");
    if (auto decoded = percent_decode(text)) must(decoded->size() <= text.size(), "decoding never grows");
}

// The requests that a server would accept from a connection's bytes when they come `piece` at a time. What is malformed
// and what is cut off ends them alike: which of the two it is may depend on how much has come.
std::string accepted_requests(std::string_view bytes, std::size_t piece) {
    std::string accepted;
    std::string held;
    auto more = [&] {
        auto next = bytes.substr(0, piece);
        bytes.remove_prefix(next.size());
        held += next;
        return !next.empty();
    };
    while (true) {
        Parser parser(Parser::Kind::request, 1024);
        while (!parser.head_done()) {
            held.erase(0, parser.put_head(held));
            if (parser.error() || (!parser.head_done() && !more())) return accepted;
        }
        Request request;
        request.method = parser.method();
        request.target = parser.target();
        request.headers = parser.headers();
        if (check_request(request, parser.is_http_1_0())) return accepted;
        must(request.target.starts_with('/'), "an accepted target is a path");
        must(!(parser.chunked() && parser.content_length()), "an accepted request has one framing");
        BodySink sink = [&](std::string_view body) {
            request.body += body;
            return true;
        };
        while (!parser.done()) {
            held.erase(0, parser.put_body(held, sink));
            if (parser.error() || (!parser.done() && !more())) return accepted;
        }
        accepted += request.method + request.path + request.body + (parser.keep_alive() ? "|" : "!");
    }
}

}  // namespace
}  // namespace sandbox::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sandbox::http;
    if (size == 0) return 0;
    std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 4) {
        case 0:
            read_url(text);
            break;
        case 1:
            read_query(text);
            break;
        case 2:
            read_percent(text);
            break;
        default:
            // How the bytes were cut into packets must not change what they mean.
            if (text.size() > 4096) break;
            must(accepted_requests(text, text.size()) == accepted_requests(text, 1), "packets' borders mean nothing");
    }
    return 0;
}
