#pragma once

#include <expected>
#include <string>
#include <utility>

#include "message.hpp"

namespace sandbox::mcp {

/// What a method comes to: its result, or the error that answers the request.
using Reply = std::expected<Json, RpcError>;

[[nodiscard]] inline std::unexpected<RpcError> rpc_error(int code, std::string message, Json data = nullptr) {
    return std::unexpected(RpcError{.code = code, .message = std::move(message), .data = std::move(data)});
}

}  // namespace sandbox::mcp
