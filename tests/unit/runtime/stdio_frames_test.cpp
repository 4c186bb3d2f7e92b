#include "docker/stdio_frames.hpp"

#include <string>

#include <gtest/gtest.h>

namespace sandbox::runtime::docker {
namespace {

std::string piece(char source, std::string_view payload) {
    std::string bytes{source, '\0', '\0', '\0'};
    for (unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(payload.size() >> shift & 0xFFU);
    return bytes.append(payload);
}

// Both streams come apart whole, in whatever pieces the connection gives them.
TEST(StdioFrames, takes_the_streams_apart) {
    auto bytes = piece(1, "hello ") + piece(2, "oops") + piece(1, "") + piece(1, std::string(70'000, 'x'));
    for (std::size_t size : {1UL, 3UL, 9UL, bytes.size()}) {
        StdioFrames frames;
        std::string out;
        std::string err;
        for (std::string_view rest = bytes; !rest.empty(); rest.remove_prefix(std::min(size, rest.size())))
            ASSERT_TRUE(frames.feed(rest.substr(0, size), [&](StdioFrames::Source source, std::string_view payload) {
                (source == StdioFrames::Source::out ? out : err) += payload;
            }));
        EXPECT_EQ(out, "hello " + std::string(70'000, 'x'));
        EXPECT_EQ(err, "oops");
    }
}

TEST(StdioFrames, refuses_another_stream) {
    StdioFrames frames;
    EXPECT_FALSE(frames.feed("HTTP/1.1 200 OK", [](StdioFrames::Source, std::string_view) { FAIL(); }));
}

}  // namespace
}  // namespace sandbox::runtime::docker
