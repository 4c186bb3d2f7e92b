#include "docker/tar.hpp"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace sandbox::runtime::docker {
namespace {

std::string field(const std::string& archive, std::size_t offset, std::size_t size) {
    auto text = archive.substr(offset, size);
    return text.substr(0, text.find('\0'));
}

// The fields that a reader of POSIX ustar looks at, and the checksum over them.
TEST(Tar, holds_one_program) {
    for (std::size_t size : {0UL, 1UL, 511UL, 512UL, 513UL, 1'000'000UL}) {
        std::string content(size, 'x');
        auto archive = tar_of_program("sandbox-guest", content);
        EXPECT_EQ(archive.size() % 512, 0U);
        EXPECT_EQ(field(archive, 0, 100), "sandbox-guest");
        EXPECT_EQ(field(archive, 100, 8), "0000555");
        EXPECT_EQ(std::strtoull(field(archive, 124, 12).c_str(), nullptr, 8), size);
        EXPECT_EQ(archive.substr(257, 8), std::string("ustar\00000", 8));
        EXPECT_EQ(archive.substr(512, size), content);
        EXPECT_EQ(archive.find_first_not_of('\0', 512 + size), std::string::npos);

        unsigned sum = 8 * ' ';
        for (std::size_t i = 0; i < 512; ++i)
            if (i < 148 || i >= 156) sum += static_cast<unsigned char>(archive[i]);
        EXPECT_EQ(std::strtoul(field(archive, 148, 8).c_str(), nullptr, 8), sum);
    }
}

}  // namespace
}  // namespace sandbox::runtime::docker
