#include <gtest/gtest.h>

#include <sandbox/client/refusal.hpp>

namespace sandbox::client {
namespace {

TEST(Refusal, by_the_gates_that_look_at_sizes_is_for_what_was_asked) {
    const auto asked = [](std::string code, std::string details) {
        return asked_for_too_much({.error = Error(Code::resource_exhausted, "no").with_details(std::move(details)),
                                   .code = std::move(code),
                                   .request_id = "",
                                   .status = 503});
    };
    EXPECT_TRUE(asked("no_capacity", R"({"nodes":1,"rejected":{"reserve":1}})"));
    EXPECT_TRUE(asked("no_capacity", R"({"nodes":2,"rejected":{"resources":1,"stale":1}})"));
    EXPECT_FALSE(asked("no_capacity", R"({"nodes":1,"rejected":{"stale":1}})"));
    EXPECT_FALSE(asked("unavailable", R"({"nodes":1,"rejected":{"reserve":1}})"));
    for (const auto* odd : {"", "[]", "{", R"({"rejected":7})"}) EXPECT_FALSE(asked("no_capacity", odd));
}

}  // namespace
}  // namespace sandbox::client
