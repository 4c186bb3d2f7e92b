#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cases.hpp"

namespace {

/// The whole file; nullopt with errno set when it can't be read.
std::optional<std::string> contents(const char* file) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file, "rb"), std::fclose);
    if (!stream) return std::nullopt;
    std::string text;
    std::array<char, 65'536> part{};
    while (const auto size = std::fread(part.data(), 1, part.size(), stream.get())) text.append(part.data(), size);
    if (std::ferror(stream.get()) != 0) return std::nullopt;
    return text;
}

}  // namespace

// aegis_vectors FILE: checks worked placement cases. Ends with "N passed, N failed"; exit status 0 when all passed,
// 1 when some failed, 2 when the file can't be used.
int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: aegis_vectors FILE\n");
        return 2;
    }
    const auto text = contents(argv[1]);
    if (!text) {
        fmt::print(stderr, "aegis_vectors: can't read {}: {}\n", argv[1], std::strerror(errno));
        return 2;
    }
    const auto cases = sandbox::aegis::read_cases(*text);
    if (!cases) {
        fmt::print(stderr, "aegis_vectors: {}: {}\n", argv[1], cases.error().message());
        return 2;
    }
    std::size_t failed = 0;
    for (const auto& one : *cases) {
        const auto wrong = check(one);
        if (!wrong.empty()) ++failed;
        for (const auto& line : wrong) fmt::print("FAILED {}: {}\n", one.name, line);
    }
    fmt::print("{} passed, {} failed\n", cases->size() - failed, failed);
    return failed == 0 ? 0 : 1;
}
