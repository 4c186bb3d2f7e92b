#include <nats/servers.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::events {
namespace {

using testing::ElementsAre;

TEST(Servers, are_a_list_with_commas) {
    EXPECT_THAT(server_urls("nats://a:4222"), ElementsAre("nats://a:4222"));
    EXPECT_THAT(server_urls("nats://a, tls://b:4443 ,nats://c"), ElementsAre("nats://a", "tls://b:4443", "nats://c"));
}

// Whatever stands beside a host may be a secret.
TEST(Servers, are_shown_by_their_hosts_alone) {
    EXPECT_EQ(server_hosts({"nats://user:pa@ss@a:4222", "tls://token@b", "nats://[::1]:4222/x?password=y"}),
              "a:4222, b, [::1]:4222");
    EXPECT_EQ(server_hosts({}), "");
}

}  // namespace
}  // namespace sandbox::events
