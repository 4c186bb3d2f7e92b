#include "http_fixture.hpp"

namespace sandbox::http {
namespace {

class ServerTest : public HttpTest {};

// Every answer carries the client's own request id when it is sane, and a fresh one otherwise.
TEST_F(ServerTest, request_ids_are_the_client_s_own_where_sane) {
    start();
    auto own = ask_raw("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: my-id-1\r\nConnection: close\r\n\r\n");
    EXPECT_NE(own.find("X-Request-Id: my-id-1\r\n"), std::string::npos) << own;
    for (std::string bad : {std::string("has blank"), std::string(129, 'x'), std::string("\xc3\xa9"), std::string()}) {
        auto fresh =
            ask_raw("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + bad + "\r\nConnection: close\r\n\r\n");
        auto at = fresh.find("X-Request-Id: ");
        ASSERT_NE(at, std::string::npos) << fresh;
        EXPECT_TRUE(Uuid::parse(fresh.substr(at + 14, 36))) << fresh;
    }
}

}  // namespace
}  // namespace sandbox::http
