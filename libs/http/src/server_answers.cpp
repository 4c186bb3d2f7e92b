// The second half of a connection's work: calling the handler, and writing what it answers.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/base/log.hpp>

#include "response_head.hpp"
#include "server_connection.hpp"

namespace sandbox::http {

namespace {

constexpr std::size_t kReadBytes = 4 * 1024;       // of the next request, while an answer is being made
constexpr std::size_t kWriteBytes = 256 * 1024;    // what one write_timeout is for
constexpr std::size_t kOneWriteBytes = 64 * 1024;  // a body up to this goes out with its head

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

bool ServerConnection::peer_has_left() {
    // Bytes that lie there are the next request; only a look past them could tell, and the next read will.
    return gone_ || channel_->closed() || (buffer_.empty() && channel_->at_end());
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
            got = co_await Channel::read_some(c.channel_, c.buffer_.room(kReadBytes), Deadline::max());
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

}  // namespace sandbox::http
