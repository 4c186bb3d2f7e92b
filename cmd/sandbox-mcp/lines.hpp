#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sandbox::mcp {

/// Cuts a stream of bytes into lines. A line ends with a newline, a carriage return before it belongs to the end; empty
/// and blank lines are left out. What is longer than the limit is dropped up to its end.
class Lines {
public:
    explicit Lines(std::size_t limit_bytes) : limit_(limit_bytes) {}

    /// Calls on_line(std::string_view) for each whole line, and on_long() once for each that was too long.
    template <class OnLine, class OnLong>
    void feed(std::string_view bytes, OnLine on_line, OnLong on_long) {
        while (!bytes.empty()) {
            const auto end = bytes.find('\n');
            take(bytes.substr(0, end));
            if (end == std::string_view::npos) return;
            bytes.remove_prefix(end + 1);
            finish(on_line, on_long);
        }
    }
    /// The stream has ended: what is left counts as a line.
    template <class OnLine, class OnLong>
    void end(OnLine on_line, OnLong on_long) {
        finish(on_line, on_long);
    }

private:
    static constexpr std::size_t kKeptCapacity = 64 * 1024;

    void take(std::string_view part) {
        if (dropping_) return;
        if (part.size() > limit_ + 1 - line_.size()) {  // one more for a carriage return
            dropping_ = true;
            line_ = {};
            return;
        }
        line_ += part;
    }
    template <class OnLine, class OnLong>
    void finish(OnLine& on_line, OnLong& on_long) {
        std::string_view line = line_;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (dropping_ || line.size() > limit_)
            on_long();
        else if (line.find_first_not_of(" \t\r") != std::string_view::npos)
            on_line(line);
        dropping_ = false;
        line_.clear();
        if (line_.capacity() > kKeptCapacity) line_ = {};
    }

    std::size_t limit_;
    std::string line_;
    bool dropping_ = false;
};

}  // namespace sandbox::mcp
