#include <unordered_set>

#include <gtest/gtest.h>

#include <sandbox/base/id.hpp>

namespace sandbox {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kNow{1'796'000'645'123'456us};

// The time in front, then the version and the variant, then what the random source gave.
TEST(Uuid, version_7_holds_the_time_in_milliseconds) {
    SeededRandom random(1);

    auto uuid = Uuid::make_v7(kNow, random);

    std::uint64_t milliseconds = 0;
    for (int i = 0; i < 6; ++i) milliseconds = milliseconds << 8 | uuid.bytes[static_cast<std::size_t>(i)];
    EXPECT_EQ(milliseconds, 1'796'000'645'123U);
    EXPECT_EQ(uuid.text()[14], '7');
    EXPECT_NE(std::string("89ab").find(uuid.text()[19]), std::string::npos);
}

TEST(Uuid, later_ones_sort_after_earlier_ones) {
    SystemRandom random;
    EXPECT_LT(Uuid::make_v7(kNow, random), Uuid::make_v7(kNow + 1ms, random));
}

TEST(Uuid, ten_thousand_of_one_moment_all_differ) {
    SystemRandom random;
    std::unordered_set<Uuid> seen;
    for (int i = 0; i < 10'000; ++i) seen.insert(Uuid::make_v7(kNow, random));
    EXPECT_EQ(seen.size(), 10'000U);
}

// Any version and either case is read; what is written is lowercase.
TEST(Uuid, reads_what_it_writes) {
    auto uuid = Uuid::parse("F47AC10B-58CC-4372-A567-0E02B2C3D479");

    ASSERT_TRUE(uuid);
    EXPECT_EQ(uuid->text(), "f47ac10b-58cc-4372-a567-0e02b2c3d479");
    EXPECT_EQ(uuid->compact(), "f47ac10b58cc4372a5670e02b2c3d479");
    EXPECT_EQ(Uuid::parse(uuid->text()), uuid);
}

TEST(Uuid, refuses_everything_else) {
    for (auto text : {"", "f47ac10b58cc4372a5670e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d47",
                      "f47ac10b-58cc-4372-a567-0e02b2c3d4790", "f47ac10b-58cc-4372-a567_0e02b2c3d479",
                      "f47ac10b-58cc-4372-a567-0e02b2c3d47g", "{47ac10b-58cc-4372-a567-0e02b2c3d479",
                      "f47ac10b--58cc-4372-a567-0e02b2c3d47"})
        EXPECT_FALSE(Uuid::parse(text)) << text;
}

// Bigger than the pool, exactly the pool, and across its end.
TEST(SystemRandom, fills_any_length) {
    SystemRandom random;
    for (std::size_t size : {0U, 1U, 200U, 100U, 256U, 257U, 5000U}) {
        std::vector<std::uint8_t> bytes(size, 0);
        random.fill(bytes);
        if (size >= 100) EXPECT_GT(std::ranges::count_if(bytes, [](auto byte) { return byte != 0; }), 80);
    }
}

TEST(SeededRandom, repeats_itself_for_the_same_seed_only) {
    auto bytes = [](std::uint64_t seed) {
        std::array<std::uint8_t, 20> result{};
        SeededRandom(seed).fill(result);
        return result;
    };
    EXPECT_EQ(bytes(7), bytes(7));
    EXPECT_NE(bytes(7), bytes(8));
}

}  // namespace
}  // namespace sandbox
