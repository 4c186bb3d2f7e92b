#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sandbox {

/// A source of random bytes. Injected, so that tests are repeatable.
class Random {
public:
    virtual ~Random() = default;
    virtual void fill(std::span<std::uint8_t> bytes) = 0;
};

/// The operating system's cryptographic source, buffered. One per thread that uses it.
class SystemRandom final : public Random {
public:
    void fill(std::span<std::uint8_t> bytes) override;

private:
    std::uint8_t pool_[256];
    std::size_t left_ = 0;
};

/// Repeatable bytes from a seed. For tests only: anybody can guess them.
class SeededRandom final : public Random {
public:
    explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
    void fill(std::span<std::uint8_t> bytes) override;

private:
    std::uint64_t state_;
};

}  // namespace sandbox
