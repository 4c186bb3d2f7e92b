#include <filesystem>
#include <fstream>
#include <sstream>
#include <support/process.hpp>
#include <worker/node_id.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::sandboxd {
namespace {

class NodeIdFile : public testing::Test {
protected:
    Result<domain::NodeId> load() { return load_or_make_node_id(directory.path(), Timestamp{}, random); }
    void write(const std::string& text) { std::ofstream(file) << text; }
    std::string read() {
        std::stringstream text;
        text << std::ifstream(file).rdbuf();
        return text.str();
    }

    test::TemporaryDirectory directory;
    std::string file = directory.path() + "/node-id";
    SeededRandom random{1};
};

TEST_F(NodeIdFile, stays_from_start_to_start) {
    const auto first = load();
    ASSERT_TRUE(first);
    EXPECT_EQ(read(), first->text() + "\n");
    EXPECT_EQ(load().value(), *first);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

// Any version of UUID, as an older worker may have written it.
TEST_F(NodeIdFile, takes_over_what_is_there) {
    write("F47AC10B-58CC-4372-A567-0E02B2C3D479\n");
    EXPECT_EQ(load()->text(), "f47ac10b-58cc-4372-a567-0e02b2c3d479");
}

// A new identity would orphan every sandbox on the host: that is not decided here.
TEST_F(NodeIdFile, refuses_a_file_that_holds_none) {
    for (const auto* text : {"", "\n", "node-1\n", "f47ac10b-58cc-4372-a567-0e02b2c3d479\n\n"}) {
        write(text);
        const auto loaded = load();
        ASSERT_FALSE(loaded) << text;
        EXPECT_EQ(loaded.error().message(), file +
                                                " does not hold a node id (one UUID and a newline); restore it, or "
                                                "remove it to start as a new node");
        EXPECT_EQ(read(), text);
    }
}

TEST_F(NodeIdFile, says_why_it_can_not_be_kept) {
    const auto loaded = load_or_make_node_id(directory.path() + "/absent", Timestamp{}, random);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message(), testing::HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace sandbox::sandboxd
