#pragma once

#include <chrono>
#include <memory>
#include <nats/nats.h>
#include <span>
#include <string>
#include <string_view>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/events/nats_bus.hpp>

namespace sandbox::events {

template <auto Destroy>
struct Destroyer {
    template <class T>
    void operator()(T* thing) const noexcept {
        Destroy(thing);
    }
};
using NatsConnection = std::unique_ptr<natsConnection, Destroyer<natsConnection_Destroy>>;
using NatsOptions = std::unique_ptr<natsOptions, Destroyer<natsOptions_Destroy>>;
using NatsMessage = std::unique_ptr<natsMsg, Destroyer<natsMsg_Destroy>>;
using JetStream = std::unique_ptr<jsCtx, Destroyer<jsCtx_Destroy>>;

/// One connection to the servers, at a time, and what is done over it. Every call blocks, until its deadline and the
/// time that a connection may take at most: one thread of its own uses it. The client library's own reconnecting is
/// off: what it had taken and not yet sent would be lost between the two connections, and a flush of the second one
/// would say that all is well.
class NatsLink {
public:
    explicit NatsLink(NatsSettings settings);

    /// Publishes them in their order and returns once all are accepted. Errors: unavailable; then the connection is
    /// gone, and some of them may have been accepted.
    [[nodiscard]] Result<void> publish(std::span<const domain::Event> events, Deadline deadline);

private:
    [[nodiscard]] Result<void> publish_over_connection(std::span<const domain::Event> events, Deadline deadline);
    [[nodiscard]] Result<void> connect(Deadline deadline);
    /// Whether a stream captures the subject, as far as these credentials may know.
    [[nodiscard]] Result<bool> is_captured(const std::string& subject, Deadline deadline);
    /// Where there is no JetStream and somebody listens to every subject, the question reaches him and nobody answers.
    [[nodiscard]] Result<bool> is_captured_though_nobody_answers(Deadline deadline);
    [[nodiscard]] Result<void> store(natsMsg* message, const std::string& event_id, Deadline deadline);
    /// Waits until the server has taken everything so far.
    [[nodiscard]] Result<void> flush(Deadline deadline);
    [[nodiscard]] Result<NatsMessage> message_of(const domain::Event& event, const std::string& subject) const;
    /// What the server has said last of what it does not permit; "" when nothing.
    [[nodiscard]] std::string refusal() const;
    /// Fails when it has said so of our subjects.
    [[nodiscard]] Result<void> permitted() const;
    [[nodiscard]] std::unexpected<Error> failed(natsStatus status, std::string_view what = "") const;
    [[nodiscard]] std::unexpected<Error> failed(std::string_view what) const;

    NatsSettings settings_;
    std::string node_subject_;
    std::string hosts_;  // for people
    NatsConnection connection_;
    JetStream jetstream_;
    bool may_ask_for_streams_ = true;  // over this connection
    bool has_jetstream_ = false;       // it has answered before
    int unanswered_ = 0;               // in a row
    std::chrono::steady_clock::time_point no_jetstream_until_{};
};

}  // namespace sandbox::events
