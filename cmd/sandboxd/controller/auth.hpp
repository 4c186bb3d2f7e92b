#pragma once

#include <functional>
#include <optional>

#include <sandbox/http/message.hpp>

#include "settings.hpp"

namespace sandbox::sandboxd {

/// Refuses a request (401) before its body is read, or lets it pass (nullopt).
using Guard = std::function<std::optional<http::Response>(const http::Request& head)>;

/// Lets pass who brings the API token, or the previous one; everybody when none is set.
[[nodiscard]] Guard operator_guard(const ControllerSettings& settings);
/// The same for workers and the node token.
[[nodiscard]] Guard node_guard(const ControllerSettings& settings);

}  // namespace sandbox::sandboxd
