#pragma once

#include <optional>
#include <string>

#include <sandbox/async/task.hpp>
#include <sandbox/domain/ids.hpp>

#include "bridge.hpp"
#include "reply.hpp"

namespace sandbox::mcp {

[[nodiscard]] Json list_of_resources();
[[nodiscard]] Json list_of_resource_templates();

/// A resource that needs no server, read; nullopt when the address is none of them.
[[nodiscard]] std::optional<Json> read_static_resource(const std::string& uri);

/// Whether the address has the form of one that the server is asked for.
[[nodiscard]] bool is_server_resource(const std::string& uri);
/// A sandbox or an operation, read. A missing one is kResourceNotFound, which the revisions number differently.
Task<Reply> read_server_resource(Bridge& bridge, std::string uri);

/// No resource has this address.
[[nodiscard]] RpcError resource_not_found(const std::string& uri);

inline constexpr std::string_view kSandboxTemplate = "sandbox://sandboxes/{id}";
inline constexpr std::string_view kOperationTemplate = "sandbox://operations/{id}";

}  // namespace sandbox::mcp
