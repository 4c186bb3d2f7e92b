#include "docker/tar.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include <sandbox/base/error.hpp>

namespace sandbox::runtime::docker {

namespace {

constexpr std::size_t kBlock = 512;

void put(std::array<char, kBlock>& header, std::size_t offset, std::string_view text) {
    std::ranges::copy(text, header.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

std::string tar_of_program(std::string_view name, std::string_view content) {
    constexpr std::size_t kNameRoom = 100;
    if (name.size() > kNameRoom) broken_invariant("a tar member's name has more than 100 bytes");
    // Offsets of POSIX.1-1988 ustar: name, mode, uid, gid, size, mtime, checksum, type, magic and version.
    std::array<char, kBlock> header{};
    put(header, 0, name);
    put(header, 100, "0000555");
    put(header, 108, "0000000");
    put(header, 116, "0000000");
    put(header, 124, fmt::format("{:011o}", content.size()));
    put(header, 136, "00000000000");
    put(header, 148, "        ");  // the checksum is taken with itself as spaces
    put(header, 156, "0");
    put(header, 257, std::string_view("ustar\00000", 8));
    unsigned sum = 0;
    for (char byte : header) sum += static_cast<unsigned char>(byte);
    put(header, 148, fmt::format("{:06o}", sum));
    header[154] = '\0';

    const auto padding = (kBlock - content.size() % kBlock) % kBlock;
    std::string archive;
    archive.reserve(kBlock + content.size() + padding + 2 * kBlock);
    archive.append(header.data(), kBlock);
    archive += content;
    archive.append(padding + 2 * kBlock, '\0');
    return archive;
}

}  // namespace sandbox::runtime::docker
