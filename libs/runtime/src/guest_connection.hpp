#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sandbox/async/signal.hpp>
#include <sandbox/guest/credit.hpp>
#include <sandbox/guest/frame.hpp>
#include <sandbox/http/stream.hpp>

namespace sandbox::runtime {

/// What a guest may send on a connection before we have passed it on; also the most that waits here.
inline constexpr std::uint32_t kConnectionWindow = 256 * 1024;

/// One TCP connection to a port on a sandbox's loopback, as both sides of it see it: the link puts in what the guest
/// sends, the stream takes it out. Lives while either is there; io thread.
struct GuestConnection {
    /// Queues a frame for the guest; nothing when the link is gone.
    using Send = std::function<void(const std::string& frame)>;

    GuestConnection(std::uint64_t connection_id, Send to_guest) : id(connection_id), send(std::move(to_guest)) {}

    std::uint64_t id;
    Send send;
    bool connected = false;
    std::optional<std::string> over;  // why nothing more passes; empty after an orderly end
    std::string received;             // at most kConnectionWindow bytes
    bool received_end = false;
    bool sent_end = false;
    guest::ReceiveCredit receive_credit{kConnectionWindow};
    guest::SendCredit send_credit{guest::kInputWindow};
    async::Signal changed;

    void end(std::string why) {
        if (!over) over = std::move(why);
        changed.notify_all();
    }
};

/// The connection as a stream. `on_close` is called once, when the stream has no more use for it.
[[nodiscard]] std::unique_ptr<http::Stream> stream_of(std::shared_ptr<GuestConnection> connection,
                                                      std::function<void()> on_close);

}  // namespace sandbox::runtime
