#pragma once

#include <string>
#include <string_view>
#include <sys/socket.h>

#include <sandbox/base/error.hpp>

namespace sandbox::http {

/// A peer's IP as text; an IPv4 address that came in over an IPv6 socket in its own form.
[[nodiscard]] std::string ip_text(const sockaddr_storage& address);

struct Listening {
    int descriptor;       // non-blocking, close-on-exec
    std::string address;  // host:port with the real port
};

/// Binds host:port ([::]:8080 for IPv6) and listens. Errors: invalid_argument for a bad address, unavailable when it
/// can't be bound.
[[nodiscard]] Result<Listening> bind_and_listen(std::string_view bind);

}  // namespace sandbox::http
