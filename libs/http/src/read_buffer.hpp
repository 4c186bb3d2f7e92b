#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace sandbox::http {

/// Bytes that were read and not yet used. Takes memory only while it holds some.
class ReadBuffer {
public:
    [[nodiscard]] std::string_view view() const noexcept { return {data_.get() + begin_, end_ - begin_}; }
    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }

    void consume(std::size_t bytes) noexcept {
        begin_ += bytes;
        if (begin_ == end_) begin_ = end_ = 0;
    }

    /// Room for at least `least` more bytes; commit() says how many came.
    [[nodiscard]] std::span<char> room(std::size_t least) {
        if (capacity_ - end_ < least) {
            auto held = size();
            if (capacity_ - held < least) {
                auto grown = std::max(capacity_ * 2, held + least);
                auto bigger = std::make_unique_for_overwrite<char[]>(grown);
                if (held > 0) std::memcpy(bigger.get(), data_.get() + begin_, held);
                data_ = std::move(bigger);
                capacity_ = grown;
            } else {
                std::memmove(data_.get(), data_.get() + begin_, held);
            }
            begin_ = 0;
            end_ = held;
        }
        return {data_.get() + end_, capacity_ - end_};
    }
    void commit(std::size_t bytes) noexcept { end_ += bytes; }

    /// Gives the memory back when nothing is held.
    void release() noexcept {
        if (!empty()) return;
        data_.reset();
        capacity_ = begin_ = end_ = 0;
    }

private:
    std::unique_ptr<char[]> data_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace sandbox::http
