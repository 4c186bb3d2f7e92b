#pragma once

#include <optional>
#include <string_view>

namespace sandbox::runtime {

/// The share of memory that is not available, 0 to 1, from the text of /proc/meminfo.
[[nodiscard]] std::optional<float> memory_in_use(std::string_view meminfo);
/// The share of the last ten seconds in which everything waited for memory, 0 to 1, from /proc/pressure/memory.
[[nodiscard]] std::optional<float> memory_stall(std::string_view pressure);

/// The greater of both for this host, 0 where neither can be told. Reads two files of /proc.
[[nodiscard]] float host_pressure();

}  // namespace sandbox::runtime
