#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <sandbox/base/error.hpp>

namespace sandbox {

/// A moment in UTC with the precision that the API carries.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

/// RFC 3339 in UTC with six fraction digits: 2026-11-30T03:04:05.123456Z.
[[nodiscard]] std::string format_time(Timestamp time);

/// Reads RFC 3339 with any offset and zero to nine fraction digits (more precise than a microsecond is cut off).
/// Errors: invalid_argument.
[[nodiscard]] Result<Timestamp> parse_time(std::string_view text);

/// Tells the wall time. Injected, so that tests decide what time it is; async's Clock can sleep as well.
class TimeSource {
public:
    virtual ~TimeSource() = default;
    [[nodiscard]] virtual Timestamp now() const = 0;
};

}  // namespace sandbox
