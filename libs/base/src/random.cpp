#include <cerrno>
#include <cstring>
#include <sys/random.h>

#include <sandbox/base/error.hpp>
#include <sandbox/base/random.hpp>

namespace sandbox {
namespace {

void read_from_kernel(std::span<std::uint8_t> bytes) {
    while (!bytes.empty()) {
        auto got = getrandom(bytes.data(), bytes.size(), 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            broken_invariant("getrandom failed; every supported kernel has it");
        }
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace

void SystemRandom::fill(std::span<std::uint8_t> bytes) {
    if (bytes.empty()) return;
    if (bytes.size() > sizeof pool_) return read_from_kernel(bytes);
    if (bytes.size() > left_) {
        read_from_kernel(pool_);
        left_ = sizeof pool_;
    }
    auto* from = pool_ + (left_ - bytes.size());
    std::memcpy(bytes.data(), from, bytes.size());
    explicit_bzero(from, bytes.size());  // what was handed out can't be read from here again
    left_ -= bytes.size();
}

void SeededRandom::fill(std::span<std::uint8_t> bytes) {
    // splitmix64, least significant byte first.
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i % 8 == 0) {
            state_ += 0x9e3779b97f4a7c15;
            word = state_;
            word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
            word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
            word ^= word >> 31;
        }
        bytes[i] = static_cast<std::uint8_t>(word >> (8 * (i % 8)));
    }
}

}  // namespace sandbox
