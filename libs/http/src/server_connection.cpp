#include "server_connection.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
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
constexpr std::size_t kWriteBytes = 256 * 1024;    // what one write_timeout is for
constexpr std::size_t kOneWriteBytes = 64 * 1024;  // a body up to this goes out with its head
constexpr std::size_t kLingerBytes = 64 * 1024 * 1024;
constexpr std::size_t kSmallBodyBytes = 64 * 1024;  // cheaper to read than a new connection

/// Chunked coding, or plain bytes for a client of HTTP/1.0.
class ChannelBodyWriter final : public BodyWriter {
public:
    ChannelBodyWriter(std::shared_ptr<Channel> channel, std::chrono::milliseconds timeout, bool chunked)
        : channel_(std::move(channel)), timeout_(timeout), chunked_(chunked) {}

    Task<Result<void>> write(std::string_view bytes) override {
        if (bytes.empty()) co_return Result<void>{};  // an empty chunk would be the end
        std::string framed;
        if (chunked_) {
            framed.reserve(bytes.size() + 16);
            fmt::format_to(std::back_inserter(framed), "{:x}\r\n", bytes.size());
            framed += bytes;
            framed += "\r\n";
            bytes = framed;
        }
        auto written = co_await Channel::write(channel_, bytes, in(timeout_));
        if (!written) failed_ = true;
        co_return written;
    }

    Task<Result<void>> finish() {
        if (!chunked_) co_return Result<void>{};
        co_return co_await Channel::write(channel_, "0\r\n\r\n", in(timeout_));
    }

    [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
    std::shared_ptr<Channel> channel_;
    std::chrono::milliseconds timeout_;
    bool chunked_;
    bool failed_ = false;
};

std::string failure_text(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "unknown exception";
    }
}

bool is_cancellation(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
        return error.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

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

bool ServerConnection::peer_has_left() {
    // Bytes that lie there are the next request; only a look past them could tell, and the next read will.
    return gone_ || channel_->closed() || (buffer_.empty() && channel_->at_end());
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
        auto response = c.error(400, "this port speaks HTTPS; use https:// in the URL", unread.request_id);
        tls.send_plain(response_head(response, unread, Framing::length, false, false) + response.body);
    } else {
        c.channel_->close();
    }
    co_return false;
}

Task<std::expected<void, Response>> ServerConnection::read_head(ServerConnection& c, Exchange& exchange, bool& silent) {
    auto& parser = exchange.parser;
    while (true) {
        while (c.buffer_.view().starts_with("\r\n")) c.buffer_.consume(2);  // RFC 9112, 2.2
        if (c.buffer_.view() != "\r") c.buffer_.consume(parser.put_head(c.buffer_.view()));
        if (parser.error()) {
            co_return std::unexpected(c.error(parser.error()->status, parser.error()->message, c.fresh_id()));
        }
        if (parser.head_done()) co_return std::expected<void, Response>{};
        auto got = co_await Channel::read_some(c.channel_, c.buffer_.room(kReadBytes / 4), exchange.deadline);
        if (got && *got > 0) {
            c.buffer_.commit(*got);
            continue;
        }
        silent = got || got.error().code() != Code::deadline_exceeded || c.buffer_.empty();
        co_return std::unexpected(silent ? Response{}
                                         : c.error(408, "the request did not arrive in time", c.fresh_id()));
    }
}

std::expected<void, Response> ServerConnection::check_head(Exchange& exchange) {
    auto& request = exchange.request;
    auto& parser = exchange.parser;
    request.method = parser.method();
    request.target = parser.target();
    request.headers = std::move(parser.headers());
    request.remote_address = remote_;
    const auto* id = request.headers.find("X-Request-Id");
    bool sane = id != nullptr && !id->empty() && id->size() <= 128 && is_visible_ascii(*id);
    request.request_id = sane ? *id : fresh_id();
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

Task<void> ServerConnection::supervise(ServerConnection& c, Task<void> work, std::exception_ptr& failure) {
    auto running = std::make_shared<Running>();
    c.running_ = running;
    auto on_end = [running, channel = c.channel_](std::exception_ptr e) {
        running->failure = std::move(e);
        running->done = true;
        running->ended.notify_all();
        channel->interrupt();
    };
    auto executor = c.channel_->executor();
    asio::co_spawn(executor, std::move(work), asio::bind_cancellation_slot(running->cancel.slot(), std::move(on_end)));
    co_await asio::post(executor, asio::use_awaitable);  // what did not have to wait has ended by now

    while (!running->done) {
        if (c.gone_ || c.buffer_.size() >= c.context_->settings.header_limit_bytes) {
            co_await running->ended.wait(Deadline::max());
            continue;
        }
        auto ready = co_await Channel::wait_readable(c.channel_, Deadline::max());
        if (running->done) break;
        Result<std::size_t> got = std::size_t{0};
        if (ready)
            got = co_await Channel::read_some(c.channel_, c.buffer_.room(kReadBytes / 4), Deadline::max());
        else
            got = fail(std::move(ready.error()));
        if (got && *got > 0) {
            c.buffer_.commit(*got);  // the next request, pipelined
        } else if (!running->done) {
            c.gone_ = true;
            running->cancel.emit(asio::cancellation_type::terminal);
        }
    }
    c.running_.reset();
    failure = running->failure;
}

Task<Response> ServerConnection::call(ServerConnection& c, Request request, bool& answered) {
    auto id = request.request_id;
    auto what = fmt::format("{} {}", request.method, request.path);
    Response response;
    auto handle = [](Service& service, Request r, Response& out) -> Task<void> {
        out = co_await service.handle(std::move(r));
    };
    std::exception_ptr failure;
    co_await supervise(c, handle(c.context_->service, std::move(request), response), failure);
    answered = !failure || !is_cancellation(failure);
    if (!failure) co_return response;
    if (!answered && !c.gone_) answered = true;  // cancelled by itself: the client still waits for an answer
    if (c.gone_) co_return Response{};
    log::error("request failed", {{"request_id", id}, {"request", what}, {"error", failure_text(failure)}});
    co_return c.error(500, "something went wrong here; the server's log has it under this request id", id);
}

Task<bool> ServerConnection::write_plain(ServerConnection& c, std::string head, const std::string& body) {
    auto timeout = c.context_->settings.write_timeout;
    std::string_view rest = body;
    if (body.size() <= kOneWriteBytes) {
        head += body;
        rest = {};
    }
    auto written = co_await Channel::write(c.channel_, head, in(timeout));
    while (written && !rest.empty()) {
        auto piece = rest.substr(0, kWriteBytes);
        written = co_await Channel::write(c.channel_, piece, in(timeout));
        rest.remove_prefix(piece.size());
    }
    co_return written.has_value();
}

Task<bool> ServerConnection::write_stream(ServerConnection& c, std::string head, const Exchange& exchange,
                                          Response& response) {
    auto timeout = c.context_->settings.write_timeout;
    auto written = co_await Channel::write(c.channel_, head, in(timeout));
    if (!written) co_return false;
    ChannelBodyWriter writer(c.channel_, timeout, !exchange.parser.is_http_1_0());
    std::exception_ptr failure;
    co_await supervise(c, response.stream(writer), failure);
    if (failure) {
        if (!is_cancellation(failure)) {
            log::error("response cut off",
                       {{"request_id", exchange.request.request_id}, {"error", failure_text(failure)}});
        }
        co_return false;
    }
    if (c.gone_ || writer.failed()) co_return false;
    auto finished = co_await writer.finish();
    co_return finished.has_value();
}

Task<ServerConnection::Next> ServerConnection::respond(ServerConnection& c, const Exchange& exchange, Response response,
                                                       Next next) {
    const auto& request = exchange.request;
    if (c.finishing_ && next == Next::keep) next = Next::close;
    bool http_1_0 = exchange.parser.is_http_1_0();
    bool head_only = request.method == "HEAD" || is_bodiless(response.status);
    bool streams = response.stream && !head_only;
    auto framing = is_bodiless(response.status) ? Framing::none : Framing::length;
    if (response.stream && framing != Framing::none) framing = http_1_0 ? Framing::until_close : Framing::chunked;
    if (framing == Framing::until_close && next == Next::keep) next = Next::close;

    bool upgrades = response.status == 101 && response.on_upgrade;
    auto head = response_head(response, request, framing, http_1_0, next == Next::keep);
    bool delivered = false;
    if (response.on_undelivered && c.peer_has_left()) c.gone_ = true;
    if (c.gone_) {
        // Nobody is there to write to.
    } else if (streams) {
        delivered = co_await write_stream(c, std::move(head), exchange, response);
    } else {
        static const std::string no_body;
        delivered = co_await write_plain(c, std::move(head), head_only ? no_body : response.body);
    }
    if (!delivered) {
        if (response.on_undelivered) response.on_undelivered();
        c.channel_->close();
        co_return Next::close;
    }
    if (upgrades) {
        std::string already_read(c.buffer_.view());
        response.on_upgrade(std::make_unique<ChannelStream>(c.channel_, std::move(already_read), std::move(c.token_)));
        co_return Next::taken;
    }
    co_return next;
}

Task<ServerConnection::Next> ServerConnection::serve_one(ServerConnection& c) {
    const auto& settings = c.context_->settings;
    Exchange exchange{Parser(Parser::Kind::request, settings.header_limit_bytes), {}, in(settings.request_timeout)};
    auto& request = exchange.request;
    bool silent = false;
    auto read = co_await read_head(c, exchange, silent);
    if (silent) co_return Next::close;
    if (!read) {
        if (const auto* id = read.error().headers.find("X-Request-Id")) request.request_id = *id;
        if (request.request_id.empty()) request.request_id = c.fresh_id();
        co_return co_await respond(c, exchange, std::move(read.error()), Next::linger);
    }
    if (auto checked = c.check_head(exchange); !checked) {
        co_return co_await respond(c, exchange, std::move(checked.error()), Next::linger);
    }
    if (c.refuse_) {
        auto refusal = c.error(503, "this server has as many connections as it may", request.request_id);
        co_return co_await respond(c, exchange, std::move(refusal), Next::linger);
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
    if (!body) co_return co_await respond(c, exchange, std::move(body.error()), Next::linger);

    bool answered = false;
    Request head_only;  // what the answer needs to know of the request, which the handler takes
    head_only.method = request.method;
    head_only.request_id = request.request_id;
    auto response = co_await call(c, std::exchange(request, std::move(head_only)), answered);
    if (!answered) co_return Next::close;
    co_return co_await respond(c, exchange, std::move(response), exchange.keep_alive ? Next::keep : Next::close);
}

}  // namespace sandbox::http
