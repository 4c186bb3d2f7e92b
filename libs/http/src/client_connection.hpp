#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <sandbox/http/client.hpp>

#include "channel.hpp"
#include "parser.hpp"
#include "read_buffer.hpp"
#include "tls.hpp"

namespace sandbox::http {

/// Opens a channel to the server, by name, address or socket path. Errors name the server.
Task<Result<std::shared_ptr<Channel>>> connect(asio::any_io_executor executor, const ClientSettings& settings,
                                               std::shared_ptr<TlsContext> tls, Deadline deadline);

/// One connection to the server: a request and its answer at a time.
class ClientConnection {
public:
    explicit ClientConnection(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
    ~ClientConnection() {
        if (channel_) channel_->close();
    }
    ClientConnection(const ClientConnection&) = delete;
    ClientConnection& operator=(const ClientConnection&) = delete;

    /// Sends a request's bytes. `written` counts what went out.
    Task<Result<void>> write(std::string_view bytes, Deadline deadline, std::size_t& written);
    /// Reads an answer's head, past interim answers (101 is none). `no_body` for HEAD.
    Task<Result<Response>> read_head(bool no_body, Deadline deadline);
    /// Reads the body of that answer. The sink's false ends it: then `stopped` is true, and the connection unusable.
    Task<Result<void>> read_body(const BodySink& sink, bool& stopped, Deadline deadline);

    /// Whether another request may follow: the answer is whole, and both sides want to go on.
    [[nodiscard]] bool reusable() const;
    /// Whether a kept connection has stayed quiet, as it must.
    [[nodiscard]] bool quiet() { return channel_->quiet(); }
    [[nodiscard]] bool got_any() const noexcept { return got_any_; }
    [[nodiscard]] std::unique_ptr<Stream> into_stream();

    std::chrono::steady_clock::time_point idle_since;

private:
    Task<Result<std::size_t>> fill(Deadline deadline);

    std::shared_ptr<Channel> channel_;
    ReadBuffer buffer_;
    std::optional<Parser> parser_;
    bool got_any_ = false;  // a byte of the present answer
    bool no_body_ = false;
};

}  // namespace sandbox::http
