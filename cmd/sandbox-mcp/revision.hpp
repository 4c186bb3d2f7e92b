#pragma once

#include <array>
#include <string_view>

namespace sandbox::mcp {

inline constexpr std::string_view kServerName = "sandbox-mcp";

/// The protocol's revisions, by the rules that a request is answered.
enum class Revision { june_2025, november_2025, july_2026 };

inline constexpr std::string_view kJune2025 = "2025-06-18";
inline constexpr std::string_view kNovember2025 = "2025-11-25";
inline constexpr std::string_view kJuly2026 = "2026-07-28";
inline constexpr std::array kAllVersions{kNovember2025, kJune2025, kJuly2026};

// Members of `_meta` by which a request says what it speaks, and a result who answers.
inline constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kServerInfoKey = "io.modelcontextprotocol/serverInfo";

}  // namespace sandbox::mcp
