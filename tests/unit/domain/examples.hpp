#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/spec.hpp>

/// Values that the tests start from.
namespace sandbox::domain {

/// An id whose last digit is `n`.
template <class T>
T an_id(std::uint8_t n) {
    T id;
    id.uuid.bytes[15] = n;
    return id;
}

inline Timestamp a_time(int seconds = 0) {
    return *parse_time("2026-11-30T03:04:05.123456Z") + std::chrono::seconds(seconds);
}

inline SandboxSpec a_spec() {
    SandboxSpec spec;
    spec.tenant = "acme";
    spec.image = "python:3.13";
    return spec;
}

inline Tunnel a_tunnel() {
    Tunnel tunnel;
    tunnel.id = an_id<TunnelId>(5);
    tunnel.container_port = 8000;
    tunnel.subdomain = "demo";
    tunnel.hostname = "demo.tunnel.example.com";
    tunnel.public_url = "https://demo.tunnel.example.com";
    tunnel.state = TunnelState::active;
    return tunnel;
}

/// The document with the text's bytes, which a test has got right.
inline nlohmann::json json_of(std::string_view text) {
    auto parsed = parse_json(text);
    if (!parsed) {
        ADD_FAILURE() << parsed.error().message();
        return nullptr;
    }
    return *parsed;
}

inline std::string joined(const Problems& problems) {
    return problems.empty() ? "" : problems.to_error().message();
}

}  // namespace sandbox::domain
