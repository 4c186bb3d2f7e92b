#pragma once

#include <memory>
#include <optional>
#include <string>

#include <sandbox/base/secret.hpp>
#include <sandbox/events/event_bus.hpp>

namespace sandbox::events {

struct NatsSettings {
    Secret servers;       // nats:// or tls:// URLs, comma separated; they may hold passwords
    std::string subject;  // of sandboxes' events; nodes' go to this and ".nodes"
    std::optional<std::string> credentials_file;
};

/// A bus of NATS servers. It connects when there is something to publish, and anew after any failure, so a server that
/// is away delays events and nothing else. An event is accepted once
/// - the JetStream stream that captures its subject has acknowledged it: it is stored, and a repeated one (same
///   Nats-Msg-Id, which is its event_id) is dropped by the stream within its duplicate window; or
/// - where no stream captures the subject, the server has it: it has answered a PING sent after it. Who is subscribed
///   then gets it; nobody else ever does.
/// Errors name the servers' hosts, never what the URLs or the file hold beside.
[[nodiscard]] std::unique_ptr<EventBus> create_nats_bus(NatsSettings settings);

}  // namespace sandbox::events
