#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::runtime::external {

/// Hides values that must not be shown (a command's environment) in what a driver writes: each that has four bytes or
/// more becomes "***", also a single line of one that has several.
class Mask {
public:
    Mask() = default;
    explicit Mask(const std::vector<std::string>& values);
    [[nodiscard]] std::string apply(std::string text) const;

private:
    std::vector<std::string> values_;  // the longest first
};

/// A driver's standard error: handed on line by line, each bounded and masked, and no more of them than a bound. Its
/// end is kept, for the message of a run that failed.
class DriverLog {
public:
    using LineSink = std::function<void(std::string_view line)>;
    DriverLog(Mask mask, LineSink sink) : mask_(std::move(mask)), sink_(std::move(sink)) {}

    void append(std::string_view bytes);
    /// Ends the last line.
    void finish();
    /// The end of what was written, as one line of UTF-8 without control characters.
    [[nodiscard]] const std::string& tail() const noexcept { return tail_; }

private:
    void end_line();

    Mask mask_;
    LineSink sink_;
    std::string line_;
    bool line_is_cut_ = false;
    std::size_t lines_ = 0;
    std::string tail_;
};

}  // namespace sandbox::runtime::external
