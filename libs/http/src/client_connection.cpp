#include "client_connection.hpp"

#include <cstddef>
#include <cstring>
#include <sys/un.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/async/signal.hpp>

#include "response_head.hpp"

namespace sandbox::http {

namespace {

using asio::ip::tcp;

constexpr std::size_t kHeaderLimit = 64 * 1024;
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr auto kBacklogPause = std::chrono::milliseconds(5);

struct Resolution {
    async::Signal ended;
    std::optional<boost::system::error_code> error;
    std::vector<tcp::endpoint> endpoints;
};

// getaddrinfo can't be cancelled; so it is left behind when the deadline passes.
Task<Result<std::vector<tcp::endpoint>>> resolve(asio::any_io_executor executor, const Url& server, Deadline deadline) {
    boost::system::error_code not_numeric;
    auto address = asio::ip::make_address(server.host, not_numeric);
    if (!not_numeric) co_return std::vector{tcp::endpoint(address, server.port)};

    auto resolution = std::make_shared<Resolution>();
    auto resolver = std::make_shared<tcp::resolver>(executor);
    resolver->async_resolve(
        server.host, std::to_string(server.port),
        [resolution, resolver](const boost::system::error_code& error, const tcp::resolver::results_type& results) {
            resolution->error = error;
            for (const auto& entry : results) resolution->endpoints.push_back(entry.endpoint());
            resolution->ended.notify_all();
        });
    co_await resolution->ended.wait(deadline);
    if (!resolution->error) co_return fail(Code::deadline_exceeded, "timed out while resolving its name");
    if (*resolution->error) co_return fail(Code::unavailable, resolution->error->message());
    co_return std::move(resolution->endpoints);
}

Task<Result<std::shared_ptr<Channel>>> connect_tcp(asio::any_io_executor executor, const Url& server,
                                                   std::shared_ptr<TlsContext> tls, Deadline deadline) {
    auto endpoints = co_await resolve(executor, server, deadline);
    if (!endpoints) co_return fail(std::move(endpoints.error()));
    Error last(Code::unavailable, "its name has no address");
    for (std::size_t i = 0; i < endpoints->size(); ++i) {
        auto descriptor = start_connect((*endpoints)[i].data(), (*endpoints)[i].size());
        if (!descriptor) {
            last = std::move(descriptor.error());
            continue;
        }
        std::shared_ptr<Channel> channel;
        if (tls)
            channel = std::make_shared<TlsChannel>(executor, *descriptor, tls, server.host);
        else
            channel = std::make_shared<Channel>(executor, *descriptor);
        // An address that swallows packets must leave time for the others.
        auto now = std::chrono::steady_clock::now();
        auto share = now + (deadline - now) / static_cast<int>(endpoints->size() - i);
        auto opened = co_await Channel::open(channel, share);
        if (opened) co_return channel;
        channel->close();
        last = std::move(opened.error());
        if (last.code() == Code::cancelled) break;
    }
    co_return fail(std::move(last));
}

Task<Result<std::shared_ptr<Channel>>> connect_unix(asio::any_io_executor executor, std::string path,
                                                    Deadline deadline) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) co_return fail(Code::invalid_argument, "the path is too long");
    std::memcpy(address.sun_path, path.data(), path.size());
    auto size = offsetof(sockaddr_un, sun_path) + path.size() + 1;
    while (true) {
        auto descriptor = start_connect(&address, size);
        if (descriptor) co_return std::make_shared<Channel>(executor, *descriptor);
        // A listener whose backlog is full says "try again" at once, and there is nothing to wait on.
        if (descriptor.error().code() != Code::resource_exhausted) co_return fail(std::move(descriptor.error()));
        if (std::chrono::steady_clock::now() + kBacklogPause >= deadline) {
            co_return fail(Code::deadline_exceeded, "timed out; it accepts no connections");
        }
        asio::steady_timer pause(executor, kBacklogPause);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

}  // namespace

Task<Result<std::shared_ptr<Channel>>> connect(asio::any_io_executor executor, const ClientSettings& settings,
                                               std::shared_ptr<TlsContext> tls, Deadline deadline) {
    const auto& server = settings.server;
    deadline = std::min(deadline, in(settings.connect_timeout));
    Result<std::shared_ptr<Channel>> channel;
    if (server.scheme == Url::Scheme::unix_socket)
        channel = co_await connect_unix(executor, server.host, deadline);
    else
        channel = co_await connect_tcp(executor, server, std::move(tls), deadline);
    if (!channel) co_return fail(std::move(channel.error()).in("can't connect to " + server.text()));
    co_return channel;
}

Task<Result<void>> ClientConnection::write(std::string_view bytes, Deadline deadline, std::size_t& written) {
    return Channel::write(channel_, bytes, deadline, &written);
}

Task<Result<std::size_t>> ClientConnection::fill(Deadline deadline) {
    auto got = co_await Channel::read_some(channel_, buffer_.room(kReadBytes / 2), deadline);
    if (got) buffer_.commit(*got);
    if (got && *got > 0) got_any_ = true;
    co_return got;
}

Task<Result<Response>> ClientConnection::read_head(bool no_body, Deadline deadline) {
    got_any_ = false;
    no_body_ = no_body;
    while (true) {
        parser_.emplace(Parser::Kind::response, kHeaderLimit);
        if (no_body) parser_->expect_no_body();
        while (!parser_->head_done()) {
            if (buffer_.view().starts_with("\x15\x03")) {  // an alert record
                co_return fail(Code::unavailable, "the server speaks TLS on this port; use https:// in the URL");
            }
            buffer_.consume(parser_->put_head(buffer_.view()));
            if (parser_->error()) {
                co_return fail(Code::unavailable, "the answer is not HTTP: " + parser_->error()->message);
            }
            if (parser_->head_done()) break;
            auto got = co_await fill(deadline);
            if (!got) co_return fail(std::move(got.error()));
            if (*got == 0) co_return fail(Code::unavailable, "the server closed the connection without an answer");
        }
        auto status = parser_->status();
        if (status >= 200 || status == 101) break;
    }
    Response response;
    response.status = parser_->status();
    response.headers = parser_->headers();
    co_return response;
}

Task<Result<void>> ClientConnection::read_body(const BodySink& sink, bool& stopped, Deadline deadline) {
    stopped = false;
    BodySink watched = [&](std::string_view bytes) {
        stopped = !sink(bytes);
        return !stopped;
    };
    if (no_body_ || is_bodiless(parser_->status())) co_return Result<void>{};
    while (!parser_->done()) {
        buffer_.consume(parser_->put_body(buffer_.view(), watched));
        if (stopped) co_return Result<void>{};
        if (parser_->error()) co_return fail(Code::unavailable, "bad answer: " + parser_->error()->message);
        if (parser_->done()) break;
        if (buffer_.size() > kHeaderLimit) co_return fail(Code::unavailable, "bad answer: oversized chunked coding");
        auto got = co_await fill(deadline);
        if (!got) co_return fail(std::move(got.error()));
        if (*got > 0) continue;
        parser_->put_end();
        if (parser_->error()) co_return fail(Code::unavailable, "the server closed the connection within its answer");
        co_return Result<void>{};
    }
    co_return Result<void>{};
}

bool ClientConnection::reusable() const {
    bool whole = parser_ && (parser_->done() || no_body_ || is_bodiless(parser_->status()));
    return whole && parser_->keep_alive() && buffer_.empty();
}

std::unique_ptr<Stream> ClientConnection::into_stream() {
    std::string already_read(buffer_.view());
    return std::make_unique<ChannelStream>(std::move(channel_), std::move(already_read));
}

}  // namespace sandbox::http
