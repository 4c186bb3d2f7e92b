#include "tls.hpp"

#include <arpa/inet.h>
#include <cerrno>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace sandbox::http {

namespace {

std::string last_reason() {
    auto error = ERR_peek_last_error();
    const char* text = ERR_reason_error_string(error);
    return text != nullptr ? text : "unknown TLS error";
}

std::shared_ptr<TlsContext> make_context(const SSL_METHOD* method) {
    auto context = std::make_shared<TlsContext>(SSL_CTX_new(method));
    SSL_CTX_set_min_proto_version(context->native(), TLS1_2_VERSION);
    // Buffers of idle connections are given back; a write that is tried again may come from another place.
    SSL_CTX_set_mode(context->native(),
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context->native(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    return context;
}

bool is_ip_address(const std::string& host) {
    in6_addr buffer{};
    return ::inet_pton(AF_INET, host.c_str(), &buffer) == 1 || ::inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

}  // namespace

/// OpenSSL's way to our socket. Its own socket BIO writes without MSG_NOSIGNAL.
struct TlsSocketMethod {
    static TlsChannel& channel(BIO* bio) { return *static_cast<TlsChannel*>(BIO_get_data(bio)); }

    static int read(BIO* bio, char* buffer, int size) {
        BIO_clear_retry_flags(bio);
        auto step = channel(bio).receive({buffer, static_cast<std::size_t>(size)});
        if (step.kind == Step::Kind::done) return static_cast<int>(step.bytes);
        if (step.kind == Step::Kind::end) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
        if (step.kind == Step::Kind::want_read) BIO_set_retry_read(bio);
        return step.kind == Step::Kind::end ? 0 : -1;
    }

    static int write(BIO* bio, const char* bytes, int size) {
        BIO_clear_retry_flags(bio);
        auto step = channel(bio).send({bytes, static_cast<std::size_t>(size)});
        if (step.kind == Step::Kind::done) return static_cast<int>(step.bytes);
        if (step.kind == Step::Kind::want_write) BIO_set_retry_write(bio);
        return -1;
    }

    static long control(BIO* bio, int command, long, void*) {
        if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    }

    static BIO_METHOD* instance() {
        static BIO_METHOD* const method = [] {
            auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sandbox socket");
            BIO_meth_set_read(made, &TlsSocketMethod::read);
            BIO_meth_set_write(made, &TlsSocketMethod::write);
            BIO_meth_set_ctrl(made, &TlsSocketMethod::control);
            return made;
        }();
        return method;
    }
};

TlsContext::TlsContext(SSL_CTX* context) : context_(context) {
    if (context_ == nullptr) throw std::bad_alloc();
}

TlsContext::~TlsContext() {
    SSL_CTX_free(context_);
}

Result<std::shared_ptr<TlsContext>> TlsContext::for_server(const TlsFiles& files) {
    ERR_clear_error();
    auto context = make_context(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context->native(), files.certificate_file.c_str()) != 1) {
        return fail(Code::invalid_argument,
                    fmt::format("can't use the certificate {}: {}", files.certificate_file, last_reason()));
    }
    if (SSL_CTX_use_PrivateKey_file(context->native(), files.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        return fail(Code::invalid_argument, fmt::format("can't use the key {}: {}", files.key_file, last_reason()));
    }
    if (SSL_CTX_check_private_key(context->native()) != 1) {
        return fail(Code::invalid_argument,
                    fmt::format("{} is not the key of {}", files.key_file, files.certificate_file));
    }
    return context;
}

Result<std::shared_ptr<TlsContext>> TlsContext::for_client(const std::optional<std::string>& ca_file) {
    ERR_clear_error();
    auto context = make_context(TLS_client_method());
    SSL_CTX_set_verify(context->native(), SSL_VERIFY_PEER, nullptr);
    if (!ca_file) {
        SSL_CTX_set_default_verify_paths(context->native());
    } else if (SSL_CTX_load_verify_file(context->native(), ca_file->c_str()) != 1) {
        return fail(Code::invalid_argument, fmt::format("can't use the CA file {}: {}", *ca_file, last_reason()));
    }
    return context;
}

TlsChannel::TlsChannel(asio::any_io_executor executor, int descriptor, std::shared_ptr<TlsContext> context)
    : Channel(std::move(executor), descriptor), context_(std::move(context)) {
    attach();
    SSL_set_accept_state(ssl_);
}

TlsChannel::TlsChannel(asio::any_io_executor executor, int descriptor, std::shared_ptr<TlsContext> context,
                       const std::string& host)
    : Channel(std::move(executor), descriptor), context_(std::move(context)), host_(host) {
    attach();
    SSL_set_connect_state(ssl_);
    bool bound = false;
    if (is_ip_address(host)) {
        bound = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host.c_str()) == 1;
    } else {
        bound = SSL_set1_host(ssl_, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl_, host.c_str()) == 1;
    }
    // Without a name to check, any certificate of any authority would do: never go on.
    if (!bound) broken_ = true;
}

TlsChannel::~TlsChannel() {
    SSL_free(ssl_);
}

void TlsChannel::attach() {
    ssl_ = SSL_new(context_->native());
    BIO* bio = ssl_ != nullptr ? BIO_new(TlsSocketMethod::instance()) : nullptr;
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_, bio, bio);
}

std::string TlsChannel::handshake_failure(unsigned long error) const {
    if (auto verdict = SSL_get_verify_result(ssl_); verdict != X509_V_OK && !host_.empty()) {
        return fmt::format("the certificate of {} was refused: {}", host_, X509_verify_cert_error_string(verdict));
    }
    switch (ERR_GET_REASON(error)) {
        case SSL_R_HTTP_REQUEST:
            return "the client spoke plain HTTP to a TLS port";
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
            return "the peer does not speak TLS; is this a plain HTTP port?";
        case SSL_R_UNEXPECTED_EOF_WHILE_READING:
            return "the peer closed the connection during the TLS handshake; is this a plain HTTP port?";
        default:
            break;
    }
    const char* text = ERR_reason_error_string(error);
    return fmt::format("TLS handshake failed: {}", text != nullptr ? text : "the connection was lost");
}

Step TlsChannel::outcome(int result) {
    switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ:
            return {Step::Kind::want_read};
        case SSL_ERROR_WANT_WRITE:
            return {Step::Kind::want_write};
        case SSL_ERROR_ZERO_RETURN:
            return {Step::Kind::end};
        default:
            break;
    }
    auto error = ERR_peek_last_error();
    broken_ = true;  // OpenSSL allows no further call after such an error
    if (!established_) {
        spoke_http_ = ERR_GET_REASON(error) == SSL_R_HTTP_REQUEST;
        return {Step::Kind::failed, 0, handshake_failure(error)};
    }
    const char* text = ERR_reason_error_string(error);
    return {Step::Kind::failed, 0, fmt::format("connection lost: {}", text != nullptr ? text : "closed by the peer")};
}

Step TlsChannel::try_open() {
    if (broken_) return {Step::Kind::failed, 0, "this host name can't be checked against a certificate"};
    if (!connected_) {
        auto step = Channel::try_open();
        if (step.kind != Step::Kind::done) return step;
        connected_ = true;
    }
    ERR_clear_error();
    int result = SSL_do_handshake(ssl_);
    if (result != 1) return outcome(result);
    established_ = true;
    return {};
}

Step TlsChannel::try_read(std::span<char> buffer) {
    if (broken_) return {Step::Kind::failed, 0, "connection lost"};
    ERR_clear_error();
    // One record holds at most 16 KiB; a large buffer is filled from as many as have arrived.
    std::size_t total = 0;
    while (total < buffer.size()) {
        std::size_t got = 0;
        int result = SSL_read_ex(ssl_, buffer.data() + total, buffer.size() - total, &got);
        if (result != 1) {
            if (total > 0) break;  // what stopped us is found again by the next call
            return outcome(result);
        }
        total += got;
        if (SSL_pending(ssl_) == 0) break;
    }
    return {Step::Kind::done, total};
}

Step TlsChannel::try_write(std::string_view bytes) {
    if (broken_) return {Step::Kind::failed, 0, "connection lost"};
    ERR_clear_error();
    std::size_t sent = 0;
    int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent);
    if (result != 1) return outcome(result);
    return {Step::Kind::done, sent};
}

bool TlsChannel::has_buffered() {
    return !broken_ && SSL_has_pending(ssl_) != 0;
}

Channel::Peek TlsChannel::try_peek() {
    if (broken_ || !established_) return Peek::end;
    // Session tickets may lie there on a connection that is fine; peeking takes them in.
    ERR_clear_error();
    char byte = 0;
    std::size_t got = 0;
    int result = SSL_peek_ex(ssl_, &byte, 1, &got);
    if (result == 1) return Peek::bytes;
    return SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ ? Peek::quiet : Peek::end;
}

Step TlsChannel::try_farewell() {
    if (broken_ || !established_) return {};
    ERR_clear_error();
    int result = SSL_shutdown(ssl_);
    if (result >= 0) return {};
    auto step = outcome(result);
    return step.kind == Step::Kind::want_read ? Step{} : step;
}

}  // namespace sandbox::http
