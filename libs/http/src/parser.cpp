#include "parser.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

#include "text.hpp"

namespace sandbox::http {

namespace beast = boost::beast;

/// What both kinds of parser share; the derived class is Beast's own parser.
struct Parser::Impl {
    virtual ~Impl() = default;
    virtual std::size_t put(std::string_view bytes, bool body) = 0;
    virtual void put_end() = 0;
    virtual void expect_no_body() = 0;
    [[nodiscard]] virtual bool head_done() const = 0;
    [[nodiscard]] virtual bool done() const = 0;
    [[nodiscard]] virtual bool keep_alive() const = 0;
    [[nodiscard]] virtual bool chunked() const = 0;
    [[nodiscard]] virtual std::optional<std::uint64_t> content_length() const = 0;

    std::string method;
    std::string target;
    unsigned status = 0;
    int version = 11;
    Headers headers;
    std::optional<ParseError> error;
    const BodySink* sink = nullptr;
    std::size_t header_limit = 0;
};

template <bool kIsRequest>
struct Parser::Of final : Parser::Impl, beast::http::basic_parser<kIsRequest> {
    using Base = beast::http::basic_parser<kIsRequest>;
    using Code = beast::error_code;

    explicit Of(std::size_t limit) {
        header_limit = limit;
        Base::header_limit(static_cast<std::uint32_t>(limit));
        Base::body_limit(boost::none);  // who takes the body counts it
    }

    std::size_t put(std::string_view bytes, bool body) override {
        if (error || bytes.empty()) return 0;
        // Beast asserts that five bytes are there once it has seen the last chunk's head; as between two chunks at
        // least five more must come ("0\r\n\r\n"), waiting for them withholds nothing.
        if (body && chunked() && chunk_left_ == 0 && bytes.size() < 5) return 0;
        Base::eager(body);
        Code code;
        auto used = Base::put(boost::asio::const_buffer(bytes.data(), bytes.size()), code);
        if (code && code != beast::http::error::need_more) note(code);
        return used;
    }

    void put_end() override {
        Code code;
        Base::put_eof(code);
        if (code) note(code);
    }

    void expect_no_body() override { Base::skip(true); }
    bool head_done() const override { return Base::is_header_done(); }
    bool done() const override { return Base::is_done(); }
    bool keep_alive() const override { return Base::keep_alive(); }
    bool chunked() const override { return Base::chunked(); }
    std::optional<std::uint64_t> content_length() const override {
        if (auto length = Base::content_length()) return *length;
        return std::nullopt;
    }

    void note(const Code& code) {
        if (code == beast::http::error::header_limit) {
            error = ParseError{431, fmt::format("the header is larger than {} bytes", header_limit)};
        } else {
            error = ParseError{400, "malformed HTTP: " + code.message()};
        }
    }

    void on_request_impl(beast::http::verb, beast::string_view method_text, beast::string_view target_text,
                         int http_version, Code&) override {
        method = std::string(method_text);
        target = std::string(target_text);
        version = http_version;
    }
    void on_response_impl(int code, beast::string_view, int http_version, Code&) override {
        status = static_cast<unsigned>(code);
        version = http_version;
    }
    void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value, Code&) override {
        if (!head_done_) headers.add(std::string(name), std::string(value));  // trailers are dropped
    }
    void on_header_impl(Code&) override { head_done_ = true; }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, Code&) override {}
    std::size_t on_body_impl(beast::string_view bytes, Code& code) override {
        if (sink != nullptr && !(*sink)(std::string_view(bytes.data(), bytes.size()))) {
            code = beast::http::error::body_limit;
        }
        return bytes.size();
    }
    void on_chunk_header_impl(std::uint64_t size, beast::string_view, Code&) override { chunk_left_ = size; }
    std::size_t on_chunk_body_impl(std::uint64_t left, beast::string_view bytes, Code& code) override {
        chunk_left_ = left - bytes.size();
        return on_body_impl(bytes, code);
    }
    void on_finish_impl(Code&) override {}

private:
    bool head_done_ = false;
    std::uint64_t chunk_left_ = 0;  // of the chunk whose head has been read
};

Parser::Parser(Kind kind, std::size_t header_limit) {
    if (kind == Kind::request)
        impl_ = std::make_unique<Of<true>>(header_limit);
    else
        impl_ = std::make_unique<Of<false>>(header_limit);
}

Parser::~Parser() = default;
Parser::Parser(Parser&&) noexcept = default;

std::size_t Parser::put_head(std::string_view bytes) {
    return impl_->put(bytes, false);
}

std::size_t Parser::put_body(std::string_view bytes, const BodySink& sink) {
    impl_->sink = &sink;
    std::size_t total = 0;
    while (total < bytes.size() && !done() && !error()) {
        auto used = impl_->put(bytes.substr(total), true);
        if (used == 0) break;
        total += used;
    }
    impl_->sink = nullptr;
    return total;
}

void Parser::put_end() {
    impl_->put_end();
}
void Parser::expect_no_body() {
    impl_->expect_no_body();
}
bool Parser::head_done() const {
    return impl_->head_done();
}
bool Parser::done() const {
    return impl_->done();
}
const std::optional<ParseError>& Parser::error() const {
    return impl_->error;
}
const std::string& Parser::method() const {
    return impl_->method;
}
const std::string& Parser::target() const {
    return impl_->target;
}
unsigned Parser::status() const {
    return impl_->status;
}
bool Parser::is_http_1_0() const {
    return impl_->version == 10;
}
Headers& Parser::headers() {
    return impl_->headers;
}
bool Parser::keep_alive() const {
    return impl_->keep_alive();
}
bool Parser::chunked() const {
    return impl_->chunked();
}
std::optional<std::uint64_t> Parser::content_length() const {
    return impl_->content_length();
}

}  // namespace sandbox::http
