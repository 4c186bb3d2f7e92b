#include "server_connection.hpp"

#include <fmt/format.h>

#include <sandbox/async/clock.hpp>
#include <sandbox/base/id.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/http/url.hpp>

#include "request_check.hpp"
#include "response_head.hpp"
#include "text.hpp"
#include "tls.hpp"

namespace sandbox::http {

namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kBodyReadBytes = 64 * 1024;
constexpr std::size_t kLingerBytes = 64 * 1024 * 1024;
constexpr std::size_t kSmallBodyBytes = 64 * 1024;  // cheaper to read than a new connection

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<ServerContext> context, std::shared_ptr<Channel> channel,
                                   std::string remote, std::shared_ptr<void> token, bool refuse)
    : context_(std::move(context)),
      channel_(std::move(channel)),
      remote_(std::move(remote)),
      token_(std::move(token)),
      refuse_(refuse) {}

void ServerConnection::finish() {
    finishing_ = true;
    if (idle_) channel_->close();
}

void ServerConnection::cancel() {
    finishing_ = true;
    gone_ = true;
    if (running_) running_->cancel.emit(asio::cancellation_type::terminal);
    channel_->close();
}

std::string ServerConnection::fresh_id() {
    return Uuid::make_v7(async::SystemClock().now(), context_->random).text();
}

Response ServerConnection::error(unsigned status, std::string message, const std::string& request_id) {
    return context_->service.error(status, std::move(message), request_id);
}

Task<void> ServerConnection::run(std::shared_ptr<ServerConnection> self) {
    auto& c = *self;
    bool opened = co_await open(c);
    auto next = opened ? Next::keep : Next::linger;
    bool first = true;
    while (next == Next::keep) {
        c.idle_ = true;
        if (c.buffer_.empty()) {
            c.buffer_.release();
            auto patience = first ? c.context_->settings.request_timeout : c.context_->settings.idle_timeout;
            if (c.finishing_) break;
            auto ready = co_await Channel::wait_readable(c.channel_, in(patience));
            if (!ready) break;
        }
        c.idle_ = false;
        first = false;
        next = co_await serve_one(c);
        if (c.finishing_ && next == Next::keep) next = Next::close;
    }
    if (next == Next::taken) co_return;
    if (next == Next::linger) {
        co_await Channel::linger(c.channel_, kLingerBytes, in(c.context_->settings.linger_timeout));
    }
    c.channel_->close();
}

Task<bool> ServerConnection::open(ServerConnection& c) {
    if (!c.context_->settings.tls) co_return true;
    auto opened = co_await Channel::open(c.channel_, in(c.context_->settings.request_timeout));
    if (opened) co_return true;
    auto& tls = static_cast<TlsChannel&>(*c.channel_);
    if (!c.gone_ && tls.peer_spoke_http()) {
        Request unread;
        unread.request_id = c.fresh_id();
        unread.method.clear();
        unread.target.clear();
        unread.remote_address = c.remote_;
        auto response = c.error(400, "this port speaks HTTPS; use https:// in the URL", unread.request_id);
        c.context_->service.refused(unread, response.status);
        tls.send_plain(response_head(response, unread, Framing::length, false, false) + response.body);
    } else {
        c.channel_->close();
    }
    co_return false;
}

Task<std::expected<void, Response>> ServerConnection::read_head(ServerConnection& c, Exchange& exchange, bool& silent) {
    auto& parser = exchange.parser;
    const auto& id = exchange.request.request_id;
    while (true) {
        while (c.buffer_.view().starts_with("\r\n")) c.buffer_.consume(2);  // RFC 9112, 2.2
        if (c.buffer_.view() != "\r") c.buffer_.consume(parser.put_head(c.buffer_.view()));
        if (parser.error()) {
            co_return std::unexpected(c.error(parser.error()->status, parser.error()->message, id));
        }
        if (parser.head_done()) co_return std::expected<void, Response>{};
        auto got = co_await Channel::read_some(c.channel_, c.buffer_.room(kReadBytes / 4), exchange.deadline);
        if (got && *got > 0) {
            c.buffer_.commit(*got);
            continue;
        }
        silent = got || got.error().code() != Code::deadline_exceeded || c.buffer_.empty();
        co_return std::unexpected(silent ? Response{} : c.error(408, "the request did not arrive in time", id));
    }
}

std::expected<void, Response> ServerConnection::check_head(Exchange& exchange) {
    auto& request = exchange.request;
    auto& parser = exchange.parser;
    request.method = parser.method();
    request.target = parser.target();
    request.headers = std::move(parser.headers());
    const auto* id = request.headers.find("X-Request-Id");
    bool sane = id != nullptr && !id->empty() && id->size() <= 128 && is_visible_ascii(*id);
    if (sane) request.request_id = *id;
    exchange.keep_alive = parser.keep_alive() && !finishing_;

    auto problem = check_request(request, parser.is_http_1_0());
    if (problem) return std::unexpected(error(400, std::move(*problem), request.request_id));
    return {};
}

Task<std::expected<void, Response>> ServerConnection::read_body(ServerConnection& c, Exchange& exchange,
                                                                std::size_t limit, bool& silent) {
    auto& parser = exchange.parser;
    auto& body = exchange.request.body;
    const auto& id = exchange.request.request_id;
    auto too_large = [&] { return c.error(413, fmt::format("the body is larger than {} bytes", limit), id); };
    if (parser.content_length().value_or(0) > limit) co_return std::unexpected(too_large());

    bool over = false;
    BodySink sink = [&](std::string_view bytes) {
        over = bytes.size() > limit - body.size();
        if (!over) body += bytes;
        return !over;
    };
    bool invited = !exchange.request.headers.has_token("Expect", "100-continue") || parser.is_http_1_0();
    while (!parser.done()) {
        c.buffer_.consume(parser.put_body(c.buffer_.view(), sink));
        if (over) co_return std::unexpected(too_large());
        if (parser.error()) {
            co_return std::unexpected(c.error(parser.error()->status, parser.error()->message, id));
        }
        if (parser.done()) break;
        if (c.buffer_.size() > c.context_->settings.header_limit_bytes) {  // a chunk's head or the trailers
            co_return std::unexpected(c.error(400, "malformed HTTP: the chunked coding is oversized", id));
        }
        if (!invited && c.buffer_.empty()) {
            auto sent = co_await Channel::write(c.channel_, "HTTP/1.1 100 Continue\r\n\r\n", exchange.deadline);
            silent = !sent;
            if (silent) co_return std::unexpected(Response{});
        }
        invited = true;
        auto got = co_await Channel::read_some(c.channel_, c.buffer_.room(kBodyReadBytes / 2), exchange.deadline);
        silent = got ? *got == 0 : got.error().code() != Code::deadline_exceeded;
        if (silent) co_return std::unexpected(Response{});
        if (!got) co_return std::unexpected(c.error(408, "the request did not arrive in time", id));
        c.buffer_.commit(*got);
    }
    co_return std::expected<void, Response>{};
}

Task<void> ServerConnection::discard_small_body(ServerConnection& c, Exchange& exchange) {
    auto& parser = exchange.parser;
    if (parser.chunked() || parser.content_length().value_or(0) > kSmallBodyBytes) co_return;
    if (exchange.request.headers.find("Expect") != nullptr) co_return;
    BodySink sink = [](std::string_view) { return true; };
    while (!parser.done() && !parser.error()) {
        c.buffer_.consume(parser.put_body(c.buffer_.view(), sink));
        if (parser.done()) co_return;
        auto got = co_await Channel::read_some(c.channel_, c.buffer_.room(kReadBytes), exchange.deadline);
        if (!got || *got == 0) co_return;
        c.buffer_.commit(*got);
    }
}

Task<ServerConnection::Next> ServerConnection::refuse(ServerConnection& c, const Exchange& exchange,
                                                      Response response) {
    c.context_->service.refused(exchange.request, response.status);
    co_return co_await respond(c, exchange, std::move(response), Next::linger);
}

Task<ServerConnection::Next> ServerConnection::serve_one(ServerConnection& c) {
    const auto& settings = c.context_->settings;
    Exchange exchange{Parser(Parser::Kind::request, settings.header_limit_bytes), {}, in(settings.request_timeout)};
    auto& request = exchange.request;
    // The id of whatever goes wrong before the client's own has been read.
    request.request_id = c.fresh_id();
    request.remote_address = c.remote_;
    request.method.clear();
    request.target.clear();
    bool silent = false;
    auto read = co_await read_head(c, exchange, silent);
    if (silent) co_return Next::close;
    if (!read) co_return co_await refuse(c, exchange, std::move(read.error()));
    if (auto checked = c.check_head(exchange); !checked) {
        co_return co_await refuse(c, exchange, std::move(checked.error()));
    }
    if (c.refuse_) {
        auto refusal = c.error(503, "this server has as many connections as it may", request.request_id);
        co_return co_await refuse(c, exchange, std::move(refusal));
    }

    std::expected<std::size_t, Response> admitted = std::size_t{0};
    try {
        admitted = c.context_->service.admit(request);
    } catch (const std::exception& e) {
        log::error("request failed", {{"request_id", request.request_id}, {"error", e.what()}});
        admitted = std::unexpected(c.error(
            500, "something went wrong here; the server's log has it under this request id", request.request_id));
    }
    if (!admitted) {
        co_await discard_small_body(c, exchange);
        auto next = !exchange.parser.done() ? Next::linger : exchange.keep_alive ? Next::keep : Next::close;
        co_return co_await respond(c, exchange, std::move(admitted.error()), next);
    }

    auto body = co_await read_body(c, exchange, *admitted, silent);
    if (silent) co_return Next::close;
    if (!body) co_return co_await refuse(c, exchange, std::move(body.error()));

    bool answered = false;
    Request head_only;  // what the answer needs to know of the request, which the handler takes
    head_only.method = request.method;
    head_only.request_id = request.request_id;
    auto response = co_await call(c, std::exchange(request, std::move(head_only)), answered);
    if (!answered) co_return Next::close;
    co_return co_await respond(c, exchange, std::move(response), exchange.keep_alive ? Next::keep : Next::close);
}

}  // namespace sandbox::http
