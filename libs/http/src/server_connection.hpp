#pragma once

#include <memory>
#include <string>

#include <boost/asio/cancellation_signal.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/http/server.hpp>

#include "channel.hpp"
#include "parser.hpp"
#include "read_buffer.hpp"

namespace sandbox::http {

/// What all connections of one server share.
struct ServerContext {
    ServerSettings settings;
    Service& service;
    Random& random;
    bool stopping = false;
};

/// One client's connection: requests one after another until either side has enough. Lives as long as run() does.
class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
public:
    /// `refuse`: answer the first request with 503 and close. `token` is held as long as the connection is open, also
    /// when a handler has taken it over.
    ServerConnection(std::shared_ptr<ServerContext> context, std::shared_ptr<Channel> channel, std::string remote,
                     std::shared_ptr<void> token, bool refuse);

    static Task<void> run(std::shared_ptr<ServerConnection> self);

    /// Closes now when idle, else after the answer under way.
    void finish();
    /// Cancels the handler and closes.
    void cancel();

private:
    enum class Next { keep, close, linger, taken };

    // The handler (or body writer) at work, while the connection looks out for the client's leaving.
    struct Running {
        asio::cancellation_signal cancel;
        async::Signal ended;
        std::exception_ptr failure;
        bool done = false;
    };

    struct Exchange {
        Parser parser;
        Request request;
        Deadline deadline;  // for the request to arrive whole
        bool keep_alive = false;
    };

    static Task<bool> open(ServerConnection& c);
    static Task<Next> serve_one(ServerConnection& c);
    static Task<std::expected<void, Response>> read_head(ServerConnection& c, Exchange& exchange, bool& silent);
    static Task<std::expected<void, Response>> read_body(ServerConnection& c, Exchange& exchange, std::size_t limit,
                                                         bool& silent);
    static Task<void> discard_small_body(ServerConnection& c, Exchange& exchange);
    static Task<Response> call(ServerConnection& c, Request request, bool& answered);
    static Task<void> supervise(ServerConnection& c, Task<void> work, std::exception_ptr& failure);
    /// An answer of the server's own, before the service has seen all of the request.
    static Task<Next> refuse(ServerConnection& c, const Exchange& exchange, Response response);
    static Task<Next> respond(ServerConnection& c, const Exchange& exchange, Response response, Next next);
    static Task<bool> write_plain(ServerConnection& c, std::string head, const std::string& body);
    static Task<bool> write_stream(ServerConnection& c, std::string head, const Exchange& exchange, Response& response);

    std::expected<void, Response> check_head(Exchange& exchange);
    [[nodiscard]] Response error(unsigned status, std::string message, const std::string& request_id);
    [[nodiscard]] std::string fresh_id();
    [[nodiscard]] bool peer_has_left();

    std::shared_ptr<ServerContext> context_;
    std::shared_ptr<Channel> channel_;
    std::string remote_;
    std::shared_ptr<void> token_;
    bool refuse_;
    bool idle_ = true;
    bool finishing_ = false;
    bool gone_ = false;  // the client has left, or we were cancelled: nothing can be answered any more
    ReadBuffer buffer_;
    std::shared_ptr<Running> running_;
};

}  // namespace sandbox::http
