#include <gtest/gtest.h>

#include <sandbox/http/message.hpp>

namespace sandbox::http {
namespace {

TEST(Headers, names_compare_without_case_and_the_first_is_found) {
    Headers headers;
    headers.add("Accept", "a");
    headers.add("ACCEPT", "b");
    EXPECT_EQ(*headers.find("accept"), "a");
    EXPECT_EQ(headers.find("Accep"), nullptr);
}

TEST(Headers, set_replaces_every_field_of_the_name) {
    Headers headers;
    headers.add("x", "1");
    headers.add("y", "2");
    headers.add("X", "3");
    headers.set("x", "4");
    EXPECT_EQ(headers.all().size(), 2u);
    EXPECT_EQ(*headers.find("X"), "4");
}

TEST(Headers, finds_tokens_in_lists) {
    Headers headers;
    headers.add("Connection", "keep-alive, Upgrade");
    headers.add("Connection", "x-custom");
    EXPECT_TRUE(headers.has_token("connection", "upgrade"));
    EXPECT_TRUE(headers.has_token("Connection", "X-Custom"));
    EXPECT_FALSE(headers.has_token("Connection", "up"));
    EXPECT_FALSE(headers.has_token("Upgrade", "upgrade"));
}

TEST(Request, gives_the_first_query_value_of_a_name) {
    Request request;
    request.query = {{"state", "running"}, {"state", "failed"}};
    EXPECT_EQ(*request.query_value("state"), "running");
    EXPECT_EQ(request.query_value("tenant"), nullptr);
}

}  // namespace
}  // namespace sandbox::http
