#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sandbox/api/messages.hpp>

#include "../options.hpp"
#include "../results.hpp"
#include "../schema.hpp"

namespace sandbox::mcp {

// What a sandbox gets that asks for nothing.
inline constexpr std::int64_t kCpuMillis = 1000;
inline constexpr std::int64_t kMemoryMib = 1024;
inline constexpr std::int64_t kDiskMib = 10240;
inline constexpr std::int64_t kPids = 256;
inline constexpr std::int64_t kTtl = 3600;
inline constexpr std::int64_t kLeastMib = 64;

/// The modes as tools take them; the API's long forms, which results show, are understood as well.
inline constexpr domain::Names<domain::Network, 5> kNetworks{{{"deny", domain::Network::deny},
                                                              {"restricted", domain::Network::restricted_egress},
                                                              {"open", domain::Network::open_egress},
                                                              {"restricted_egress", domain::Network::restricted_egress},
                                                              {"open_egress", domain::Network::open_egress}}};
[[nodiscard]] Json network_schema(std::string_view otherwise);

/// An input schema with `tenant` at this place among the others, which must be given unless this run has a tenant of
/// its own: then it is the last. The first `required` of `others` must be given as well.
[[nodiscard]] Json with_tenant(const Options& options, schema::Properties others, std::size_t required,
                               std::size_t place = 0);

/// What became of a create, with its operation under `operation_name`.
[[nodiscard]] ToolResult account_of_create(const api::SandboxAndOperation& created, std::size_t max_output,
                                           const std::string& operation_name);

}  // namespace sandbox::mcp
