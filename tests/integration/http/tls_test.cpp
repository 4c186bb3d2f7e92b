#include <fstream>

#include <openssl/ssl.h>

#include "certificates.hpp"
#include "http_fixture.hpp"

namespace sandbox::http {
namespace {

class TlsTest : public HttpTest {
protected:
    TlsTest() { certificates_.make("server", "DNS:localhost,IP:127.0.0.1"); }

    void start_tls(ServerSettings settings = {}) {
        settings.tls = TlsFiles{certificates_.path("server.crt"), certificates_.path("server.key")};
        start(std::move(settings));
    }

    ClientSettings client_settings() override {
        return {.server = *Url::parse("https://" + server_->address()), .ca_file = certificates_.path("server.crt")};
    }

    // The error of one request with these settings.
    std::string refusal(ClientSettings settings) {
        Client other(io_.get_executor(), std::move(settings));
        auto response = test::run(io_, other.send({}, in(5s)));
        if (response) return "no error";
        EXPECT_EQ(response.error().code(), Code::unavailable);
        return response.error().message();
    }

    Certificates certificates_;
};

TEST_F(TlsTest, requests_share_one_encrypted_connection) {
    start_tls();
    for (int i = 0; i < 20; ++i) {
        auto response = send("POST", "/echo", std::string(50000, 'x'));
        ASSERT_TRUE(response) << response.error().message();
        EXPECT_EQ(response->body.size(), 50000u);
    }
    EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(TlsTest, a_large_answer_arrives_whole) {
    std::string large(8 * 1024 * 1024, 'x');
    add("GET", "/large", [&](Request) -> Task<Response> { co_return text(large); });
    start_tls();
    auto response = send("GET", "/large");
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, large);
}

TEST_F(TlsTest, host_names_and_addresses_are_checked) {
    start_tls();
    auto settings = client_settings();
    settings.server.host = "localhost";
    Client by_name(io_.get_executor(), settings);
    Request request;
    request.target = "/hello";
    auto response = test::run(io_, by_name.send(std::move(request), in(5s)));
    ASSERT_TRUE(response) << response.error().message();

    certificates_.make("server", "DNS:other.example.com");
    ASSERT_TRUE(server_->reload_tls());
    EXPECT_NE(refusal(settings).find("the certificate of localhost was refused"), std::string::npos);
    EXPECT_NE(refusal(client_settings()).find("the certificate of 127.0.0.1 was refused"), std::string::npos);
}

TEST_F(TlsTest, an_unknown_authority_is_refused_with_its_reason) {
    start_tls();
    certificates_.make("other", "DNS:localhost");
    auto settings = client_settings();
    settings.ca_file = certificates_.path("other.crt");
    EXPECT_NE(refusal(settings).find("was refused: self-signed certificate"), std::string::npos) << refusal(settings);
    settings.ca_file = std::nullopt;
    EXPECT_NE(refusal(settings).find("was refused: self-signed certificate"), std::string::npos) << refusal(settings);
    settings.ca_file = certificates_.path("nowhere.crt");
    EXPECT_NE(refusal(settings).find("can't use the CA file"), std::string::npos) << refusal(settings);
}

TEST_F(TlsTest, an_expired_certificate_is_refused_with_its_reason) {
    certificates_.make("server", "IP:127.0.0.1", -10);
    start_tls();
    EXPECT_NE(refusal(client_settings()).find("was refused: certificate has expired"), std::string::npos);
}

TEST_F(TlsTest, a_new_certificate_serves_new_connections_and_a_bad_one_changes_nothing) {
    start_tls();
    ASSERT_TRUE(send("GET", "/hello"));
    certificates_.make("server", "IP:127.0.0.1");
    ASSERT_TRUE(server_->reload_tls());
    EXPECT_TRUE(send("GET", "/hello"));  // the kept connection goes on
    Client fresh(io_.get_executor(), client_settings());
    EXPECT_TRUE(test::run(io_, fresh.send({}, in(5s))));

    std::ofstream(certificates_.path("server.key")) << "not a key";
    auto reloaded = server_->reload_tls();
    ASSERT_FALSE(reloaded);
    EXPECT_EQ(reloaded.error().code(), Code::invalid_argument);
    EXPECT_NE(reloaded.error().message().find("server.key"), std::string::npos);
    Client again(io_.get_executor(), client_settings());
    EXPECT_TRUE(test::run(io_, again.send({}, in(5s))));
}

TEST_F(TlsTest, a_key_of_another_certificate_is_refused_at_start) {
    certificates_.make("other", "DNS:localhost");
    Server server(io_.get_executor(),
                  {.tls = TlsFiles{certificates_.path("server.crt"), certificates_.path("other.key")}}, router_,
                  random_);
    auto listening = server.listen();
    ASSERT_FALSE(listening);
    EXPECT_EQ(listening.error().code(), Code::invalid_argument);
}

TEST_F(TlsTest, plain_http_to_a_tls_port_is_told_so) {
    start_tls();
    auto answer = ask_raw("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_NE(answer.find("https"), std::string::npos) << answer;

    auto settings = client_settings();
    settings.server.scheme = Url::Scheme::http;
    Client plain(io_.get_executor(), settings);
    EXPECT_EQ(test::run(io_, plain.send({}, in(5s)))->status, 400u);
}

TEST_F(TlsTest, tls_to_a_plain_port_is_told_so) {
    start();
    EXPECT_NE(refusal(client_settings()).find("plain HTTP port"), std::string::npos) << refusal(client_settings());
}

TEST_F(TlsTest, versions_before_1_2_are_refused) {
    start_tls();
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
    SSL_CTX_set_security_level(context, 0);
    SSL* ssl = SSL_new(context);
    BIO* out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
    SSL_set_connect_state(ssl);
    SSL_do_handshake(ssl);
    char* bytes = nullptr;
    auto size = BIO_get_mem_data(out, &bytes);
    auto answer = ask_raw(std::string(bytes, static_cast<std::size_t>(size)));
    SSL_free(ssl);
    SSL_CTX_free(context);
    EXPECT_TRUE(answer.starts_with("\x15\x03") && answer.ends_with("\x02\x46")) << "an alert: protocol version";
}

TEST_F(TlsTest, a_handshake_that_does_not_come_ends) {
    start_tls({.request_timeout = 30ms});
    EXPECT_EQ(ask_raw("\x16\x03\x01"), "");
    EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(TlsTest, a_client_that_leaves_cancels_its_handler) {
    start_tls();
    ASSERT_TRUE(send("GET", "/hello"));  // the handshake is not what the time below is for
    Request request;
    request.target = "/wait";
    EXPECT_FALSE(test::run(io_, client().send(std::move(request), in(150ms))));
    EXPECT_TRUE(eventually([&] { return cancelled_ == 1; }));
}

TEST_F(TlsTest, a_refused_body_s_answer_is_read) {
    start_tls();
    auto response = send("POST", "/echo", std::string(4 * 1024 * 1024, 'x'));
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 413u);
}

TEST_F(TlsTest, upgraded_streams_end_each_direction_by_itself) {
    start_tls();
    Request request;
    request.target = "/upgrade";
    auto upgraded = test::run(io_, client().upgrade(std::move(request), "bytes", in(5s)));
    ASSERT_TRUE(upgraded) << upgraded.error().message();
    auto& near = **upgraded;
    auto& far = *taken_.at(0);
    std::string buffer(100, '\0');
    auto late = test::run(io_, near.read_some(buffer, in(10ms)));
    EXPECT_EQ(late.error().code(), Code::deadline_exceeded);

    EXPECT_TRUE(test::run(io_, near.write("there", in(1s))));
    EXPECT_EQ(test::run(io_, far.read_some(buffer, in(1s))), 5u);
    near.shutdown_write();
    EXPECT_EQ(test::run(io_, far.read_some(buffer, in(1s))), 0u);
    EXPECT_TRUE(test::run(io_, far.write("and back", in(1s))));
    EXPECT_EQ(test::run(io_, near.read_some(buffer, in(1s))), 8u);
    far.close();
    EXPECT_EQ(test::run(io_, near.read_some(buffer, in(1s))), 0u);
}

}  // namespace
}  // namespace sandbox::http
