#include "respond.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include <sandbox/api/error.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

namespace sandbox::sandboxd {

http::Response json_response(unsigned status, const nlohmann::json& body) {
    http::Response response;
    response.status = status;
    response.headers.add("Content-Type", "application/json");
    response.body = dump_json(body);
    return response;
}

static http::Response from(api::ErrorAnswer answer) {
    http::Response response;
    response.status = answer.status;
    response.headers.add("Content-Type", "application/json");
    if (answer.status == 401) response.headers.add("WWW-Authenticate", "Bearer");
    if (answer.status == 429) response.headers.add("Retry-After", "1");
    response.body = std::move(answer.body);
    return response;
}

http::Response error_response(const Error& error, const http::Request& request) {
    return from(api::to_answer(error, request.request_id));
}

http::Response error_response(unsigned status, std::string_view message, const std::string& request_id) {
    return from(api::to_answer(status, message, request_id));
}

template <class Integer>
static bool parse_integer(std::string_view text, Integer& value) {
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size() && !text.empty();
}

Result<std::optional<std::int64_t>> query_integer(const http::Request& request, std::string_view name, std::int64_t min,
                                                  std::int64_t max) {
    const auto* text = request.query_value(name);
    if (!text) return std::nullopt;
    std::int64_t value = 0;
    if (!parse_integer(*text, value) || value < min || value > max)
        return fail(Code::invalid_argument,
                    fmt::format("query parameter {} must be an integer from {} to {}", name, min, max));
    return value;
}

Result<std::optional<store::Cursor>> query_cursor(const http::Request& request) {
    const auto* text = request.query_value("cursor");
    if (!text) return std::nullopt;
    auto dot = text->find('.');
    if (dot != std::string::npos) {
        std::int64_t micros = 0;
        auto id = Uuid::parse(std::string_view(*text).substr(dot + 1));
        if (id && parse_integer(std::string_view(*text).substr(0, dot), micros))
            return store::Cursor{Timestamp(std::chrono::microseconds(micros)), *id};
    }
    return fail(Code::invalid_argument,
                "query parameter cursor must be the next_cursor of an earlier answer, unchanged");
}

std::optional<std::string> write_cursor(const std::optional<store::Cursor>& cursor) {
    if (!cursor) return std::nullopt;
    return fmt::format("{}.{}", cursor->created_at.time_since_epoch().count(), cursor->id.text());
}

/// SHA-256 over length-prefixed parts, so that no two requests run together.
static std::string digest(std::initializer_list<std::string_view> parts) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned size = 0;
    auto* context = EVP_MD_CTX_new();
    EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
    for (auto part : parts) {
        const auto length = fmt::format("{}:", part.size());
        EVP_DigestUpdate(context, length.data(), length.size());
        EVP_DigestUpdate(context, part.data(), part.size());
    }
    EVP_DigestFinal_ex(context, sum.data(), &size);
    EVP_MD_CTX_free(context);
    return base64_encode({reinterpret_cast<const char*>(sum.data()), size});
}

Result<store::MaybeIdempotency> read_idempotency(const http::Request& request) {
    const auto* key = request.headers.find("Idempotency-Key");
    if (!key) return std::nullopt;
    const bool visible = std::ranges::all_of(*key, [](char c) { return c > ' ' && c < 0x7f; });
    if (key->empty() || key->size() > 128 || !visible)
        return fail(Code::invalid_argument, "Idempotency-Key must be 1 to 128 visible ASCII characters");
    return store::Idempotency{*key, digest({request.method, request.path, request.body})};
}

}  // namespace sandbox::sandboxd
