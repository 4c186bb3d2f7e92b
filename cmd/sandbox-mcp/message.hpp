#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sandbox::mcp {

/// What goes out keeps the order in which it was written: a model reads a schema from its beginning.
using Json = nlohmann::ordered_json;

// JSON-RPC's codes, and MCP's own.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kBusy = -32000;
inline constexpr int kResourceNotFound = -32002;    // before 2026-07-28
inline constexpr int kUnsupportedVersion = -32022;  // since 2026-07-28

struct RpcError {
    int code = kInternalError;
    std::string message;
    Json data;  // null: none
};

/// One line from the client, read.
struct Message {
    enum class Kind {
        request,
        notification,
        ignored,  // an answer to a question that we never ask, or a notification that says nothing
        refused,  // `error` says why
    };
    Kind kind = Kind::ignored;
    /// A string or an integer; null when there is none or it can't be read.
    nlohmann::json id;
    std::string method;
    /// An object, or whatever stood there: the method's rules tell.
    nlohmann::json params;
    RpcError error;
};

/// Reads one line without its end. Never fails: what is no message is refused with its code.
[[nodiscard]] Message read_message(std::string_view line);

/// JSON on one line, whatever bytes the strings hold.
[[nodiscard]] std::string to_line(const Json& json);

/// An error's answer; without `id` where none could be read (null).
[[nodiscard]] std::string error_line(const nlohmann::json& id, const RpcError& error);
[[nodiscard]] std::string result_line(const nlohmann::json& id, const Json& result);

}  // namespace sandbox::mcp
