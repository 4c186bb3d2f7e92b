#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <sandbox/async/signal.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/reader.hpp>
#include <sandbox/http/stream.hpp>

#include "guest_link.hpp"

namespace sandbox::runtime {

/// One attachment to a guest, from its opening to the end of the stream. Shared by the link's reader and writer.
struct GuestLink::Session {
    Session(std::unique_ptr<http::Stream> attached, Random& random)
        : stream(std::move(attached)), nonce(make_nonce(random)), reader(nonce) {}

    std::unique_ptr<http::Stream> stream;
    guest::Nonce nonce;
    guest::HostReader reader;
    std::string out;  // what the writer takes next
    async::Signal written_to;
    bool greeted = false;  // its hello has come
    bool settled = false;  // and its ready
    bool closed = false;
    std::string breach;  // how the guest broke the protocol

    void send(const std::string& frames) {
        out += frames;
        written_to.notify_all();
    }

    void send_opening() {
        // Nothing that was queued before counts: the guest has not taken it, or it would have answered.
        if (out.empty()) guest::append_attach(out, {.nonce = nonce});
        written_to.notify_all();
    }

    /// When the opening is to be sent again: a guest that is just starting may have missed it.
    [[nodiscard]] Deadline next_opening() const {
        using namespace std::chrono_literals;
        return greeted ? Deadline::max() : in(3s);
    }

    void close() {
        closed = true;
        stream->close();
        written_to.notify_all();
    }

    static guest::Nonce make_nonce(Random& random) {
        std::array<std::uint8_t, std::tuple_size_v<guest::Nonce>> bytes{};
        random.fill(bytes);
        guest::Nonce nonce;
        std::ranges::transform(bytes, nonce.begin(), [](std::uint8_t byte) { return static_cast<char>(byte); });
        return nonce;
    }
};

}  // namespace sandbox::runtime
