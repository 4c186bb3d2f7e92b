#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/http/message.hpp>
#include <sandbox/http/stream.hpp>
#include <sandbox/http/url.hpp>

namespace sandbox::http {

struct ClientSettings {
    Url server;
    std::optional<std::string> ca_file;  // for https; the system's authorities otherwise
    std::size_t max_idle_connections = 8;
    std::size_t response_limit_bytes = 64 * 1024 * 1024;
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
};

/// An HTTP/1.1 client of one server, over TCP, TLS or a Unix socket, with kept-alive connections; any number of
/// requests side by side. Lives on the io thread.
/// Errors of all calls: unavailable (can't connect, connection lost, bad answer, certificate refused),
/// deadline_exceeded, cancelled (or operation_aborted is thrown, as from any wait of a cancelled task),
/// invalid_argument for a request that can't be written. A request on a kept connection that turns out to be closed
/// before any byte of the answer is sent again on a new one when `method` is GET, HEAD or DELETE, or nothing of it
/// could be written.
class Client {
public:
    Client(asio::any_io_executor executor, ClientSettings settings);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// `target` is relative to the server's path prefix. Host and Content-Length are set here. The answer's status
    /// is the caller's to judge.
    Task<Result<Response>> send(Request request, Deadline deadline);

    /// The answer's body as it comes, in pieces, on a connection of its own: progress lines, event streams. Returns
    /// the head when the body has ended. `on_data` returning false ends it early. When `status` is not 2xx the body is
    /// collected into the returned response instead.
    Task<Result<Response>> stream(Request request, std::function<bool(std::string_view)> on_data, Deadline deadline);

    /// Sends the request with Connection: Upgrade and hands over the raw connection when the server answers 101 (or
    /// 200, as older engines do). Any other answer is Code::unavailable with the body's text, 404 is not_found, 409
    /// conflict.
    Task<Result<std::unique_ptr<Stream>>> upgrade(Request request, std::string protocol, Deadline deadline);

    /// Closes idle connections; those in use are not kept afterwards.
    void close();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace sandbox::http
