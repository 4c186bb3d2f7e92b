#include "http_fixture.hpp"

namespace sandbox::http {
namespace {

class ClientTest : public HttpTest {};

TEST_F(ClientTest, sends_and_receives) {
    start();
    auto response = send("POST", "/echo", "some bytes");
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 200u);
    EXPECT_EQ(response->body, "some bytes");
}

TEST_F(ClientTest, a_thousand_requests_use_one_connection) {
    start();
    for (int i = 0; i < 1000; ++i) {
        auto response = send("GET", "/hello");
        ASSERT_TRUE(response) << response.error().message();
        ASSERT_EQ(response->body, "hello");
    }
    EXPECT_EQ(server_->connections(), 1u);
}

}  // namespace
}  // namespace sandbox::http
