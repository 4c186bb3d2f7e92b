#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sandbox/http/message.hpp>

namespace sandbox::http {

/// Where the bytes of a body go; false stops the parser with an error.
using BodySink = std::function<bool(std::string_view)>;

/// Why bytes are no HTTP message: the status that a server would answer and a sentence.
struct ParseError {
    unsigned status = 400;
    std::string message;
};

/// Beast's incremental parser for one message, request or response. Bytes that were not consumed must be presented
/// again with more behind them.
class Parser {
public:
    enum class Kind { request, response };
    Parser(Kind kind, std::size_t header_limit);
    ~Parser();
    Parser(Parser&&) noexcept;

    /// Takes what it can of the head; stops right behind it. Returns the bytes consumed.
    std::size_t put_head(std::string_view bytes);
    /// After the head: takes what it can of the body. Returns the bytes consumed.
    std::size_t put_body(std::string_view bytes, const BodySink& sink);
    /// The peer has ended its side: right only for a response whose body goes up to there.
    void put_end();
    /// For the answer to HEAD: a body is announced and doesn't come. Before the first byte.
    void expect_no_body();

    [[nodiscard]] bool head_done() const;
    [[nodiscard]] bool done() const;
    [[nodiscard]] const std::optional<ParseError>& error() const;

    // Of the head, once it is done.
    [[nodiscard]] const std::string& method() const;
    [[nodiscard]] const std::string& target() const;
    [[nodiscard]] unsigned status() const;
    [[nodiscard]] bool is_http_1_0() const;
    [[nodiscard]] Headers& headers();
    [[nodiscard]] bool keep_alive() const;
    [[nodiscard]] bool chunked() const;
    [[nodiscard]] std::optional<std::uint64_t> content_length() const;

private:
    struct Impl;
    template <bool kIsRequest>
    struct Of;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sandbox::http
