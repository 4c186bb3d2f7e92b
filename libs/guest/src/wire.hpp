#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox::guest {

template <std::unsigned_integral T>
void put(std::string& out, T value) {
    for (unsigned shift = 0; shift < 8 * sizeof(T); shift += 8)
        out.push_back(static_cast<char>((std::uint64_t{value} >> shift) & 0xff));
}

template <std::unsigned_integral T>
[[nodiscard]] T get(std::string_view bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < sizeof(T); ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return static_cast<T>(value);
}

/// Reads a payload from front to end. After a read past the end, everything is zero and ok() is false.
class Cursor {
public:
    explicit Cursor(std::string_view bytes) : rest_(bytes) {}

    template <std::unsigned_integral T>
    T number() {
        const auto bytes = take(sizeof(T));
        return ok_ ? get<T>(bytes) : T{0};
    }
    /// 0 or 1.
    bool flag() {
        const auto value = number<std::uint8_t>();
        ok_ = ok_ && value <= 1;
        return value == 1;
    }
    std::string_view take(std::size_t count) {
        ok_ = ok_ && count <= rest_.size();
        if (!ok_) return {};
        const auto bytes = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return bytes;
    }
    std::string_view text() { return take(number<std::uint32_t>()); }
    std::string_view rest() { return take(rest_.size()); }

    [[nodiscard]] std::size_t left() const { return rest_.size(); }
    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] bool done() const { return ok_ && rest_.empty(); }

private:
    std::string_view rest_;
    bool ok_ = true;
};

}  // namespace sandbox::guest
