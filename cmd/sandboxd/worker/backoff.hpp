#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <sandbox/base/random.hpp>

namespace sandbox::sandboxd {

/// Pauses between tries: doubling up to a bound, each less up to a quarter by chance, so that many workers that lost
/// the same controller don't come back all at once.
class Backoff {
public:
    using Duration = std::chrono::milliseconds;
    explicit Backoff(Random& random, Duration first = Duration(200), Duration most = Duration(5000))
        : random_(random), first_(first), most_(most), next_(first) {}

    [[nodiscard]] Duration next() {
        const auto pause = next_;
        next_ = std::min(most_, next_ * 2);
        std::uint8_t chance = 0;
        random_.fill({&chance, 1});
        return pause - pause / 4 * chance / 255;
    }
    void reset() noexcept { next_ = first_; }

private:
    Random& random_;
    Duration first_;
    Duration most_;
    Duration next_;
};

}  // namespace sandbox::sandboxd
