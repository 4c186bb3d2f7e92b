#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/base/text.hpp>
#include <sandbox/base/time.hpp>

namespace sandbox {
namespace {

/// What `write` leaves on standard error, without the last newline.
template <class F>
std::string logged(log::Level level, log::Format format, F write) {
    log::configure(level, format);
    testing::internal::CaptureStderr();
    write();
    auto text = testing::internal::GetCapturedStderr();
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

nlohmann::json logged_json(std::string_view message, std::initializer_list<log::Field> fields) {
    auto line = logged(log::Level::info, log::Format::json, [&] { log::info(message, fields); });
    EXPECT_LE(line.size(), 16U * 1024);
    return nlohmann::json::parse(line, nullptr, false);
}

TEST(Log, writes_one_json_object_a_line) {
    auto line = logged_json("sandbox created", {{"request_id", "r-1"}, {"tenant", "a \"b\"\n"}});

    EXPECT_EQ(line["message"], "sandbox created");
    EXPECT_EQ(line["level"], "info");
    EXPECT_EQ(line["request_id"], "r-1");
    EXPECT_EQ(line["tenant"], "a \"b\"\n");
    EXPECT_TRUE(parse_time(line["time"].get<std::string>()));
}

// Whatever bytes a peer has us log, a line stays one line of JSON.
TEST(Log, stays_json_whatever_it_is_given) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);

    auto line = logged_json(bytes, {{bytes, bytes}});

    EXPECT_TRUE(line.is_object());
}

TEST(Log, cuts_a_line_that_is_too_long) {
    for (std::string piece : {"x", "\n", "😀", "\xff"}) {
        std::string big;
        while (big.size() < 100'000) big += piece;

        auto line = logged_json("start", {{"first", big}, {"second", big}, {"third", "3"}});

        EXPECT_EQ(line["message"], "start");
        EXPECT_TRUE(line["first"].get<std::string>().ends_with("…"));
        EXPECT_EQ(line["cut"], true);
        EXPECT_TRUE(logged_json(big, {{"k", "v"}}).is_object());
    }
}

TEST(Log, writes_text_for_people) {
    auto line = logged(log::Level::info, log::Format::text, [] {
        log::warn("say \"hi\"\nforged line", {{"plain", "1"}, {"spaced", "a b"}, {"empty", ""}});
    });

    EXPECT_EQ(line.substr(28), R"(warn  say "hi"\nforged line plain=1 spaced="a b" empty="")");
}

TEST(Log, leaves_out_what_is_below_its_level) {
    EXPECT_EQ(logged(log::Level::warn, log::Format::text, [] { log::info("quiet"); }), "");
    EXPECT_FALSE(log::enabled(log::Level::info));
    EXPECT_TRUE(log::enabled(log::Level::error));
}

TEST(Log, keeps_the_lines_of_many_threads_apart) {
    auto text = logged(log::Level::info, log::Format::json, [] {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([] {
                for (int j = 0; j < 200; ++j) log::info("line", {{"filler", std::string(300, 'f')}});
            });
    });

    std::size_t lines = 0;
    for (std::size_t at = 0; at < text.size(); ++lines) {
        auto end = std::min(text.find('\n', at), text.size());
        EXPECT_TRUE(parse_json(std::string_view(text).substr(at, end - at)));
        at = end + 1;
    }
    EXPECT_EQ(lines, 800U);
}

}  // namespace
}  // namespace sandbox
