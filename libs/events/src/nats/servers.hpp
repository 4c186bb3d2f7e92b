#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::events {

/// The URLs of a comma-separated list, without blanks around them.
[[nodiscard]] std::vector<std::string> server_urls(std::string_view list);
/// Their hosts and ports alone, for messages: nothing of users, passwords or tokens.
[[nodiscard]] std::string server_hosts(const std::vector<std::string>& urls);

}  // namespace sandbox::events
