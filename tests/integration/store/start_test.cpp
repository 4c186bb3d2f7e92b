// How the store starts, and what it says when it can't.
#include <thread>

#include <gmock/gmock.h>

#include "controllers.hpp"

namespace sandbox::store {
namespace {

using testing::HasSubstr;
using testing::Not;

Error refusal(const std::string& url) {
    asio::io_context io(1);
    SeededRandom random(1);
    auto store = create_postgres_store(io.get_executor(), {.url = Secret(url)}, {}, random);
    return store ? Error(Code::internal, "it started") : store.error();
}

class Start : public Controllers {};

// Controllers that start together on an empty database make one schema.
TEST_F(Start, several_at_once_make_one_schema) {
    std::vector<std::thread> threads;
    std::vector<std::string> problems(4);
    for (std::size_t i = 0; i < problems.size(); ++i)
        threads.emplace_back([&, i, url = server().url(database())] {
            asio::io_context io(1);
            SystemRandom random;
            auto store = create_postgres_store(io.get_executor(), {.url = Secret(url)}, {}, random);
            if (!store) problems[i] = store.error().message();
        });
    for (auto& thread : threads) thread.join();

    EXPECT_EQ(problems, std::vector<std::string>(4));
    EXPECT_EQ(query("select count(*) = max(version) from sandbox.migrations"), "t");
}

TEST_F(Start, refuses_what_a_newer_version_has_made) {
    start();
    query("insert into sandbox.migrations (version, name) values (1000, 'future')");

    const auto error = refusal(server().url(database()));

    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("has schema version 1000, made by a newer version of Sandbox"));
}

TEST_F(Start, refuses_a_database_in_another_encoding) {
    server().query("postgres", "drop database if exists latin");
    server().query("postgres", "create database latin encoding 'LATIN1' template template0");
    const auto error = refusal(server().url("latin"));

    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("is encoded in LATIN1"));
}

// Neither what libpq says of a URL nor what the server says of a login shows the password.
TEST_F(Start, says_why_there_is_no_connection_without_the_password) {
    const test::PostgresServer remote({.tcp = true});
    auto wrong = remote.url();
    wrong.replace(wrong.find(test::PostgresServer::kPassword), std::string(test::PostgresServer::kPassword).size(),
                  "hunter2hunter2");
    for (const auto& url : {wrong, std::string("postgres://sandbox:hunter2hunter2@127.0.0.1:1/x"),
                            std::string("postgres://sandbox:hunter2hunter2@[::1/x"),
                            std::string("postgres://sandbox:hunter2hunter2@h/x?sslmode=hunter2hunter2"),
                            std::string("postgres://sandbox:hunter2hunter2@h:hunter2hunter2/x")}) {
        const auto error = refusal(url);
        EXPECT_TRUE(error.code() == Code::unavailable || error.code() == Code::invalid_argument);
        EXPECT_THAT(error.message(), Not(HasSubstr("hunter2")));
        EXPECT_THAT(error.message(), Not(HasSubstr("it started")));
    }
    EXPECT_THAT(refusal(wrong).message(), HasSubstr("password authentication failed"));
    EXPECT_EQ(refusal(remote.url()).message(), "it started");
}

}  // namespace
}  // namespace sandbox::store
