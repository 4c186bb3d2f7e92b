#include "event_stream.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sandbox::client {
namespace {

using Texts = std::vector<std::string>;

/// The data of the events in pieces of that size.
Texts read(std::string_view bytes, std::size_t piece = std::string_view::npos) {
    EventStream stream;
    Texts found;
    while (!bytes.empty()) {
        auto more = stream.put(bytes.substr(0, piece), [&](std::string_view data) {
            found.emplace_back(data);
            return true;
        });
        EXPECT_TRUE(more.value_or(false));
        bytes.remove_prefix(std::min(piece, bytes.size()));
    }
    return found;
}

// As the server writes it, however the network cuts it.
TEST(EventStream, reads_events_between_signs_of_life) {
    constexpr std::string_view kText = ": hello\nretry: 1000\n\nid: 7\ndata: {\"a\":1}\n\n:\n\nid: 8\ndata: two\n\n";
    for (std::size_t piece = 1; piece <= kText.size(); ++piece)
        EXPECT_EQ(read(kText, piece), (Texts{"{\"a\":1}", "two"})) << piece;
}

// As the standard has it: any line end, data over several lines, an empty one, no blank after the colon.
TEST(EventStream, reads_what_other_servers_may_write) {
    EXPECT_EQ(read("data:x\r\n\r\ndata: y\r\rdata\n\n"), (Texts{"x", "y", ""}));
    EXPECT_EQ(read("data: a\ndata: b\n\n", 1), (Texts{"a\nb"}));
    EXPECT_EQ(read("event: z\ndatum: no\n\n\n\n"), Texts{});
}

// What has not come whole is no event.
TEST(EventStream, leaves_out_an_event_that_is_cut_off) {
    EXPECT_EQ(read("data: a\n\ndata: b\n"), Texts{"a"});
}

TEST(EventStream, ends_when_no_more_is_wanted) {
    EventStream stream;
    int seen = 0;
    EXPECT_FALSE(stream.put("data: a\n\ndata: b\n\n", [&](std::string_view) { return ++seen < 1; }).value());
    EXPECT_EQ(seen, 1);
}

TEST(EventStream, refuses_an_event_without_end) {
    const std::string much(EventStream::kLargest / 2, 'x');
    const auto ignore = [](std::string_view) { return true; };
    EventStream line;
    EXPECT_TRUE(line.put(much, ignore) && line.put(much, ignore));
    EXPECT_FALSE(line.put("x", ignore));

    EventStream lines;
    EXPECT_TRUE(lines.put("data: " + much + "\n", ignore));
    EXPECT_FALSE(lines.put("data: " + much + "\n", ignore));
}

}  // namespace
}  // namespace sandbox::client
