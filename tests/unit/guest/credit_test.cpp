#include <gtest/gtest.h>

#include <sandbox/guest/credit.hpp>

namespace sandbox::guest {
namespace {

TEST(Credit, a_sender_spends_what_was_granted) {
    SendCredit credit(10);
    credit.spend(10);
    EXPECT_EQ(credit.left(), 0U);
    credit.grant(5);
    EXPECT_EQ(credit.left(), 5U);
}

// A host that grants without end neither wraps to nothing nor breaks anything.
TEST(Credit, grants_saturate) {
    SendCredit credit(UINT32_MAX);
    credit.grant(UINT32_MAX);
    EXPECT_EQ(credit.left(), std::size_t{UINT32_MAX});
}

TEST(Credit, a_receiver_refuses_more_than_it_granted) {
    ReceiveCredit credit(100);
    EXPECT_TRUE(credit.receive(60));
    EXPECT_FALSE(credit.receive(41));
    EXPECT_TRUE(credit.receive(40));
}

// Credit goes back in halves of the window, and none of it gets lost.
TEST(Credit, a_receiver_grants_what_it_has_passed_on) {
    ReceiveCredit credit(100);
    ASSERT_TRUE(credit.receive(100));

    EXPECT_EQ(credit.consume(49), 0U);
    EXPECT_EQ(credit.consume(1), 50U);
    EXPECT_EQ(credit.consume(49), 0U);
    EXPECT_EQ(credit.consume(1), 50U);
    EXPECT_TRUE(credit.receive(100));
}

}  // namespace
}  // namespace sandbox::guest
