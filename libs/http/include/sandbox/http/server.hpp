#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/http/message.hpp>

namespace sandbox::http {

/// What answers requests. Implemented by Router. All calls on the io thread.
class Service {
public:
    virtual ~Service() = default;

    /// Called when the head of a request is there (body still empty). Gives the number of body bytes that may come,
    /// or an answer right away (401, 404, 405, …), after which the connection goes on or closes as fits.
    virtual std::expected<std::size_t, Response> admit(Request& head) = 0;

    /// Answers one whole request. The task is cancelled (operation_aborted from what it waits for) when the client
    /// goes away or the server stops for good. Must not throw anything else; what escapes is answered with 500.
    virtual Task<Response> handle(Request request) = 0;

    /// The body of an error that the server itself answers: 400 malformed HTTP, 408, 413, 431, 503 too many
    /// connections, 500.
    virtual Response error(unsigned status, std::string message, const std::string& request_id) = 0;

    /// Told of each answer that the server gives by itself instead of handle(), for logs and metrics. `head` has what
    /// is known of the request: method and target are empty when its head could not be read.
    virtual void refused(const Request& /*head*/, unsigned /*status*/) {}
};

struct TlsFiles {
    std::string certificate_file;
    std::string key_file;
};

struct ServerSettings {
    std::string bind = "127.0.0.1:0";  // host:port, IPv6 as [::]:8080
    std::optional<TlsFiles> tls;
    std::size_t max_connections = 4096;  // past it: 503 and close
    std::size_t header_limit_bytes = 16 * 1024;
    std::chrono::milliseconds request_timeout = std::chrono::seconds(30);  // for a request to arrive whole
    std::chrono::milliseconds idle_timeout = std::chrono::seconds(120);    // between requests
    std::chrono::milliseconds write_timeout = std::chrono::seconds(60);    // for 256 KiB of an answer to be taken
    std::chrono::milliseconds linger_timeout = std::chrono::seconds(5);    // for a refused client to read the answer
};

/// An HTTP/1.1 server: keep-alive, pipelined requests one after another, TLS 1.2 or later, bounded everything.
/// Owned by the wiring; lives on the io thread; `service` and `random` must outlive it.
class Server {
public:
    Server(asio::any_io_executor executor, ServerSettings settings, Service& service, Random& random);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Binds and listens. Errors: invalid_argument for a bad address or certificate, unavailable when it can't bind.
    [[nodiscard]] Result<void> listen();
    /// The real address, host:port, once it listens.
    [[nodiscard]] std::string address() const;
    /// Starts to accept. Returns at once.
    void start();
    /// Reads certificate and key again; the old ones stay when they are bad. New connections use the new ones.
    [[nodiscard]] Result<void> reload_tls();

    /// Stops accepting, closes idle connections, lets requests under way finish until the deadline, then cancels them.
    Task<void> stop(Deadline deadline);

    [[nodiscard]] std::size_t connections() const noexcept;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace sandbox::http
