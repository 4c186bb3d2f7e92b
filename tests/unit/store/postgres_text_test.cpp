// What goes between the program and PostgreSQL as text: the connection's settings, arrays, notes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postgres/answer.hpp"
#include "postgres/notes.hpp"

namespace sandbox::store::postgres {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Access access(const std::string& url) {
    return Access::from(Secret(url)).value();
}

// Nothing waits for ever, whatever the URL leaves out, and what it says itself stays.
TEST(PostgresAccess, bounds_every_connection) {
    EXPECT_THAT(access("postgres://u:p@db.internal/sandbox").conninfo,
                AllOf(HasSubstr("connect_timeout='2'"), HasSubstr("tcp_user_timeout='10000'"),
                      HasSubstr("-c statement_timeout="), HasSubstr("-c lock_timeout=")));
    EXPECT_THAT(access("postgresql://db.internal:6432/sandbox?sslmode=verify-full&connect_timeout=7&options=-c%20a%3Db")
                    .conninfo,
                AllOf(HasSubstr("host='db.internal'"), HasSubstr("port='6432'"), HasSubstr("dbname='sandbox'"),
                      HasSubstr("sslmode='verify-full'"), HasSubstr("connect_timeout='7'"),
                      HasSubstr("options='-c a=b -c statement_timeout=")));
}

// A password of any characters arrives as it is; no message shows it.
TEST(PostgresAccess, keeps_the_password_to_itself) {
    const auto quoted = access("postgres://u:it%27s%5Cme@h/d");
    EXPECT_THAT(quoted.conninfo, HasSubstr(R"(password='it\'s\\me')"));
    EXPECT_EQ(quoted.description, "h:5432, database d");
    EXPECT_EQ(quoted.censored(R"(no "it's\me" here)"), R"(no "***" here)");
    const auto broken = Access::from(Secret("postgres://u:hunter2@[::1/d"));
    EXPECT_EQ(broken.error().code(), Code::invalid_argument);
    EXPECT_THAT(broken.error().message(), Not(HasSubstr("hunter2")));
}

TEST(PostgresArrays, quote_what_needs_it) {
    EXPECT_EQ(array_of_texts({}), "{}");
    EXPECT_EQ(array_of_texts({"a b", R"(c"d\e)"}), R"({"a b","c\"d\\e"})");
    EXPECT_EQ(array_of_ids(std::vector<domain::NodeId>{{}, {}}),
              "{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000000}");
}

TEST(PostgresTimes, are_read_as_sessions_print_them) {
    EXPECT_EQ(format_time(time_of("2026-11-30 03:04:05.123456+00")), "2026-11-30T03:04:05.123456Z");
    EXPECT_EQ(format_time(time_of("2026-11-30 03:04:05+00")), "2026-11-30T03:04:05.000000Z");
    EXPECT_ANY_THROW((void)time_of("infinity"));
}

TEST(PostgresNotes, tell_what_has_changed) {
    const std::string id = "01a22b8e-8abf-7c36-bf27-f1936c0d56ff";
    const auto notes = Notes::parse("w" + id + " o" + id + " c" + id + ",7,1,2,3,4,5,6,7,8,9,10 g" + id + " f l e ");

    EXPECT_EQ(notes.work, std::vector{*domain::NodeId::parse(id)});
    EXPECT_EQ(notes.ended, std::vector{*domain::OperationId::parse(id)});
    EXPECT_EQ(notes.gone, std::vector{*domain::SandboxId::parse(id)});
    ASSERT_EQ(notes.ledgers.size(), 1U);
    EXPECT_EQ(notes.ledgers[0].version, 7);
    EXPECT_EQ(notes.ledgers[0].total, (domain::Resources{1, 2, 3, 4}));
    EXPECT_EQ(notes.ledgers[0].used, (domain::Resources{5, 6, 7, 8}));
    EXPECT_EQ(notes.ledgers[0].max_sandboxes, 9);
    EXPECT_EQ(notes.ledgers[0].live, 10);
    EXPECT_TRUE(notes.nodes_changed);
    EXPECT_TRUE(notes.log_grew);
}

// A newer controller's words, and anybody's nonsense, are passed over.
TEST(PostgresNotes, are_forgiving) {
    const std::string id = "01a22b8e-8abf-7c36-bf27-f1936c0d56ff";
    for (const auto& text :
         std::vector<std::string>{"", " ", "x" + id, "w", "wnothing", "c", "c" + id, "c" + id + ",1,2",
                                  "c" + id + ",1,2,3,4,x,6,7,8,9,10,11", "c,,,,,,,,,,,",
                                  "c" + id + ",99999999999999999999,1,1,1,1,1,1,1,1,1,1"}) {
        const auto notes = Notes::parse(text);
        EXPECT_TRUE(notes.work.empty() && notes.ended.empty() && notes.gone.empty() && notes.ledgers.empty()) << text;
        EXPECT_FALSE(notes.nodes_changed || notes.log_grew) << text;
    }
}

}  // namespace
}  // namespace sandbox::store::postgres
