#include "docker/network_guard.hpp"

#include <gmock/gmock.h>

namespace sandbox::runtime::docker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Restricted: the host and the world are closed, but for what is allowed, in both hooks.
TEST(NetworkGuard, closes_a_restricted_network) {
    auto script = guard_script(domain::Network::restricted_egress, "br-1", {{"172.18.0.1", 3128}, {"2001:db8::1", 80}});
    EXPECT_EQ(script,
              "table inet sandbox-br-1\n"
              "delete table inet sandbox-br-1\n"
              "table inet sandbox-br-1 {\n"
              "  chain input {\n"
              "    type filter hook input priority filter - 10; policy accept;\n"
              "    iifname \"br-1\" ct state established,related accept\n"
              "    iifname \"br-1\" ip daddr 172.18.0.1 tcp dport 3128 accept\n"
              "    iifname \"br-1\" ip6 daddr 2001:db8::1 tcp dport 80 accept\n"
              "    iifname \"br-1\" drop\n"
              "  }\n"
              "  chain forward {\n"
              "    type filter hook forward priority filter - 10; policy accept;\n"
              "    iifname \"br-1\" ct state established,related accept\n"
              "    iifname \"br-1\" ip daddr 172.18.0.1 tcp dport 3128 accept\n"
              "    iifname \"br-1\" ip6 daddr 2001:db8::1 tcp dport 80 accept\n"
              "    iifname \"br-1\" drop\n"
              "  }\n"
              "}\n");
}

// Open: the world is open, the host and link-local addresses (metadata services) are not, and no exception counts.
TEST(NetworkGuard, keeps_an_open_network_from_the_host) {
    auto script = guard_script(domain::Network::open_egress, "br-2", {{"172.18.0.1", 3128}});
    EXPECT_THAT(script, HasSubstr("hook input priority filter - 10; policy accept;\n"
                                  "    iifname \"br-2\" ct state established,related accept\n"
                                  "    iifname \"br-2\" drop\n"));
    EXPECT_THAT(script, HasSubstr("iifname \"br-2\" ip daddr 169.254.0.0/16 drop\n"
                                  "    iifname \"br-2\" ip6 daddr fe80::/10 drop\n  }\n"));
    EXPECT_THAT(script, Not(HasSubstr("3128")));
}

TEST(NetworkGuard, reads_allowed_addresses) {
    auto allowed = resolve_allowed({"127.0.0.1:80", "[::1]:443", "gateway:3128"}, "172.18.0.1");
    ASSERT_TRUE(allowed) << allowed.error().message();
    EXPECT_EQ(*allowed, (std::vector<AllowedAddress>{{"127.0.0.1", 80}, {"::1", 443}, {"172.18.0.1", 3128}}));
    for (const char* bad :
         {"", "host", ":80", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:80x", "127.0.0.1:-1"})
        EXPECT_EQ(resolve_allowed({bad}, "").error().code(), Code::invalid_argument) << bad;
}

}  // namespace
}  // namespace sandbox::runtime::docker
