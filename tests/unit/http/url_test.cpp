#include <gtest/gtest.h>

#include <sandbox/http/url.hpp>

namespace sandbox::http {
namespace {

TEST(Url, reads_scheme_host_port_and_prefix) {
    auto url = Url::parse("https://api.example.com:8443/sandbox/");
    ASSERT_TRUE(url);
    EXPECT_EQ(url->scheme, Url::Scheme::https);
    EXPECT_EQ(url->host, "api.example.com");
    EXPECT_EQ(url->port, 8443);
    EXPECT_EQ(url->path_prefix, "/sandbox");
    EXPECT_EQ(url->text(), "https://api.example.com:8443/sandbox");
    EXPECT_EQ(url->host_header(), "api.example.com:8443");
}

TEST(Url, leaves_the_scheme_s_own_port_out_of_text_and_host) {
    EXPECT_EQ(Url::parse("http://localhost")->port, 80);
    EXPECT_EQ(Url::parse("https://localhost/")->port, 443);
    EXPECT_EQ(Url::parse("https://localhost:443/")->text(), "https://localhost");
    EXPECT_EQ(Url::parse("http://localhost:80")->host_header(), "localhost");
}

TEST(Url, ipv6_hosts_are_without_brackets_inside_and_with_them_outside) {
    auto url = Url::parse("http://[::1]:8080");
    ASSERT_TRUE(url);
    EXPECT_EQ(url->host, "::1");
    EXPECT_EQ(url->host_header(), "[::1]:8080");
    EXPECT_EQ(url->text(), "http://[::1]:8080");
}

TEST(Url, unix_sockets_and_the_engine_s_tcp) {
    auto unix_socket = Url::parse("unix:///var/run/docker.sock");
    ASSERT_TRUE(unix_socket);
    EXPECT_EQ(unix_socket->scheme, Url::Scheme::unix_socket);
    EXPECT_EQ(unix_socket->host, "/var/run/docker.sock");
    EXPECT_EQ(unix_socket->text(), "unix:///var/run/docker.sock");
    EXPECT_EQ(unix_socket->host_header(), "localhost");

    auto tcp = Url::parse("tcp://127.0.0.1:2375");
    ASSERT_TRUE(tcp);
    EXPECT_EQ(tcp->scheme, Url::Scheme::http);
    EXPECT_EQ(tcp->port, 2375);
}

// The error never repeats the URL, since it may hold a password.
TEST(Url, refuses_what_it_can_not_use_without_repeating_it) {
    for (const char* text :
         {"", "localhost:8080", "http://", "http:///x", "ftp://host", "http://user:hunter2@host", "http://host?q=1",
          "http://host#f", "http://host:0", "http://host:65536", "http://host:x", "http://ho st", "http://ho%20st",
          "unix://", "unix://relative/path", "http://host\r\nX: y"}) {
        auto url = Url::parse(text);
        ASSERT_FALSE(url) << text;
        EXPECT_EQ(url.error().code(), Code::invalid_argument);
        EXPECT_EQ(url.error().message().find("hunter2"), std::string::npos);
    }
    EXPECT_FALSE(Url::parse("unix:///" + std::string(200, 'x')));
    EXPECT_FALSE(Url::parse(std::string_view("unix:///a\0b", 11)));
}

TEST(PercentEncoding, goes_there_and_back) {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    EXPECT_EQ(percent_decode(percent_encode(all)), all);
    EXPECT_EQ(percent_encode("a b/c~d_e.f-g"), "a%20b%2Fc~d_e.f-g");
    EXPECT_EQ(percent_decode("a+b%2fc"), "a+b/c");
}

TEST(PercentEncoding, refuses_what_is_cut_off_or_no_hex) {
    for (const char* text : {"%", "%2", "a%zz", "%%20", "%2g"}) EXPECT_EQ(percent_decode(text), std::nullopt) << text;
}

TEST(QueryText, goes_there_and_back) {
    Query query{{"tenant", "a & b"}, {"state", "running"}, {"state", "failed"}, {"empty", ""}};
    auto text = encode_query(query);
    EXPECT_EQ(text, "tenant=a%20%26%20b&state=running&state=failed&empty=");
    EXPECT_EQ(parse_query(text), query);
}

TEST(QueryText, takes_plus_as_a_space_and_a_name_alone_as_empty) {
    EXPECT_EQ(parse_query("a+b=c+d&flag&&=x"), (Query{{"a b", "c d"}, {"flag", ""}, {"", "x"}}));
    EXPECT_EQ(parse_query("a=1=2"), (Query{{"a", "1=2"}}));
    EXPECT_EQ(parse_query(""), Query{});
}

TEST(QueryText, refuses_malformed_encodings) {
    auto query = parse_query("a=%4");
    ASSERT_FALSE(query);
    EXPECT_EQ(query.error().code(), Code::invalid_argument);
}

// A number past the last port must not become another port.
TEST(Url, a_port_past_65535_is_refused) {
    for (const auto* text :
         {"http://host:65536", "http://host:99999", "http://host:131073", "http://host:184467440737095516"})
        EXPECT_FALSE(Url::parse(text)) << text;
    EXPECT_EQ(Url::parse("http://host:65535")->port, 65535);
}

}  // namespace
}  // namespace sandbox::http
