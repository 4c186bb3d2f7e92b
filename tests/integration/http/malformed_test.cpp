#include "http_fixture.hpp"

namespace sandbox::http {
namespace {

struct Malformed {
    const char* name;
    std::string bytes;
};

class MalformedTest : public HttpTest, public testing::WithParamInterface<Malformed> {};

// Whatever can't be read as one clear request is 400 with a JSON body, and the connection is closed behind it, so that
// nothing after it is taken for a request.
TEST_P(MalformedTest, is_400_and_the_connection_is_closed) {
    start();
    auto connection = raw();
    connection.send(GetParam().bytes + "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    connection.end_writing();
    auto answer = connection.read();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << answer;
    EXPECT_NE(answer.find("Content-Type: application/json\r\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find("X-Request-Id: "), std::string::npos) << answer;
    EXPECT_EQ(answer.find("hello"), std::string::npos) << answer;
    EXPECT_TRUE(connection.ended());
    EXPECT_FALSE(connection.reset());
}

std::string post(const std::string& headers, const std::string& body = {}) {
    return "POST /echo HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body;
}

INSTANTIATE_TEST_SUITE_P(
    Requests, MalformedTest,
    testing::Values(
        Malformed{"no_http", "hello there\r\n\r\n"}, Malformed{"tls_to_http", "\x16\x03\x01\x02\x01\x01\r\n\r\n"},
        Malformed{"bad_version", "GET / HTTP/3.7\r\nHost: x\r\n\r\n"},
        Malformed{"two_framings", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
        Malformed{"two_framings_reversed", post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n")},
        Malformed{"two_lengths", post("Content-Length: 1\r\nContent-Length: 2\r\n", "a")},
        Malformed{"same_length_twice", post("Content-Length: 1\r\nContent-Length: 1\r\n", "a")},
        Malformed{"length_list", post("Content-Length: 1, 1\r\n", "a")},
        Malformed{"negative_length", post("Content-Length: -1\r\n")},
        Malformed{"length_with_plus", post("Content-Length: +1\r\n", "a")},
        Malformed{"length_out_of_range", post("Content-Length: 99999999999999999999999\r\n")},
        Malformed{"other_coding", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")},
        Malformed{"coding_identity", post("Transfer-Encoding: identity\r\n")},
        Malformed{"coding_twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
        Malformed{"coding_in_1_0", "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        Malformed{"bad_chunk", post("Transfer-Encoding: chunked\r\n", "zz\r\n")},
        Malformed{"bad_chunk_end", post("Transfer-Encoding: chunked\r\n", "1\r\nabc\r\n")},
        Malformed{"blank_before_colon", post("Content-Length : 1\r\n", "a")},
        Malformed{"nul_in_header", post(std::string("X: a\0b\r\n", 8))}, Malformed{"no_colon", post("nonsense\r\n")},
        Malformed{"no_host", "GET /hello HTTP/1.1\r\n\r\n"},
        Malformed{"two_hosts", "GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
        Malformed{"bad_host", "GET /hello HTTP/1.1\r\nHost: a/b@c\r\n\r\n"},
        Malformed{"no_slash", "GET hello HTTP/1.1\r\nHost: x\r\n\r\n"},
        Malformed{"fragment", "GET /hello#x HTTP/1.1\r\nHost: x\r\n\r\n"},
        Malformed{"raw_bytes_in_target", "GET /h\xc3\xa9llo HTTP/1.1\r\nHost: x\r\n\r\n"},
        Malformed{"bad_encoding_in_path", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"},
        Malformed{"nul_in_path", "GET /a%00 HTTP/1.1\r\nHost: x\r\n\r\n"},
        Malformed{"bad_encoding_in_query", "GET /hello?a=%4 HTTP/1.1\r\nHost: x\r\n\r\n"},
        Malformed{"nul_in_query", "GET /hello?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n"},
        Malformed{"connect", "CONNECT other:80 HTTP/1.1\r\nHost: other:80\r\n\r\n"},
        Malformed{"other_expectation", post("Expect: miracle\r\nContent-Length: 1\r\n", "a")}),
    [](const auto& info) { return info.param.name; });

class TargetTest : public HttpTest {};

// RFC 9112: a server takes the absolute form, too, and its host counts.
TEST_F(TargetTest, absolute_form_is_taken_as_its_path) {
    start();
    EXPECT_TRUE(ask_raw("GET http://other:1/hello?x=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    .ends_with("\r\n\r\nhello"));
}

}  // namespace
}  // namespace sandbox::http
