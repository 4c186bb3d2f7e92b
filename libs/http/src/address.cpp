#include "address.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace sandbox::http {

namespace {

struct HostAndPort {
    std::string host;
    std::string port;
};

std::optional<HostAndPort> split(std::string_view bind) {
    auto colon = bind.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto host = bind.substr(0, colon);
    auto port = bind.substr(colon + 1);
    bool bracketed = host.starts_with('[') && host.ends_with(']');
    if (bracketed) host = host.substr(1, host.size() - 2);
    bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string_view::npos;
    if (host.empty() || !digits || (!bracketed && host.find(':') != std::string_view::npos)) return std::nullopt;
    if (std::stoul(std::string(port)) > 65535) return std::nullopt;
    return HostAndPort{std::string(host), std::string(port)};
}

std::string real_address(int descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
    if (address.ss_family == AF_INET6) {
        auto port = ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
        return fmt::format("[{}]:{}", ip_text(address), port);
    }
    return fmt::format("{}:{}", ip_text(address), ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port));
}

}  // namespace

std::string ip_text(const sockaddr_storage& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET) {
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
    } else if (address.ss_family == AF_INET6) {
        const auto& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&ip))
            ::inet_ntop(AF_INET, ip.s6_addr + 12, text, sizeof text);
        else
            ::inet_ntop(AF_INET6, &ip, text, sizeof text);
    }
    return text;
}

Result<Listening> bind_and_listen(std::string_view bind) {
    auto parts = split(bind);
    if (!parts) {
        return fail(Code::invalid_argument,
                    fmt::format("\"{}\" is no address to listen on; write host:port or [::]:port", bind));
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (int error = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found); error != 0) {
        return fail(Code::invalid_argument, fmt::format("can't resolve {}: {}", parts->host, ::gai_strerror(error)));
    }
    std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);

    int descriptor = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    int off = 0;
    if (descriptor >= 0) {
        ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (found->ai_family == AF_INET6) ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (descriptor < 0 || ::bind(descriptor, found->ai_addr, found->ai_addrlen) != 0 ||
        ::listen(descriptor, SOMAXCONN) != 0) {
        auto why = std::error_code(errno, std::system_category()).message();
        if (descriptor >= 0) ::close(descriptor);
        return fail(Code::unavailable, fmt::format("can't listen on {}: {}", bind, why));
    }
    return Listening{descriptor, real_address(descriptor)};
}

}  // namespace sandbox::http
