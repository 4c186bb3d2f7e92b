#pragma once

#include <memory>
#include <optional>
#include <string>

#include <openssl/types.h>

#include <sandbox/http/server.hpp>

#include "channel.hpp"

namespace sandbox::http {

/// Certificates and rules for a number of connections. Immutable; shared by those that were opened with it.
class TlsContext {
public:
    /// Errors: invalid_argument that names the file.
    static Result<std::shared_ptr<TlsContext>> for_server(const TlsFiles& files);
    /// Trusts the authorities in `ca_file`, else the system's. Errors: invalid_argument that names the file.
    static Result<std::shared_ptr<TlsContext>> for_client(const std::optional<std::string>& ca_file);

    explicit TlsContext(SSL_CTX* context);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    [[nodiscard]] SSL_CTX* native() const noexcept { return context_; }

private:
    SSL_CTX* context_;
};

/// A channel with TLS 1.2 or later on its socket. Bytes may flow once open() has returned.
class TlsChannel final : public Channel {
public:
    /// The server's side.
    TlsChannel(asio::any_io_executor executor, int descriptor, std::shared_ptr<TlsContext> context);
    /// The client's side: the peer must prove to be `host` (a name or an IP address).
    TlsChannel(asio::any_io_executor executor, int descriptor, std::shared_ptr<TlsContext> context,
               const std::string& host);
    ~TlsChannel() override;

    /// Whether the handshake failed because the client wrote HTTP; send_plain can then still tell it so.
    [[nodiscard]] bool peer_spoke_http() const noexcept { return spoke_http_; }
    void send_plain(std::string_view bytes) { send(bytes); }

protected:
    Step try_open() override;
    Step try_read(std::span<char> buffer) override;
    Step try_write(std::string_view bytes) override;
    bool has_buffered() override;
    Peek try_peek() override;
    Step try_farewell() override;

private:
    friend struct TlsSocketMethod;

    void attach();
    Step outcome(int result);
    [[nodiscard]] std::string handshake_failure(unsigned long error) const;

    std::shared_ptr<TlsContext> context_;
    SSL* ssl_ = nullptr;
    std::string host_;  // empty on the server's side
    bool connected_ = false;
    bool established_ = false;
    bool broken_ = false;
    bool spoke_http_ = false;
};

}  // namespace sandbox::http
