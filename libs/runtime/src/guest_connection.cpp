#include "guest_connection.hpp"

#include <algorithm>
#include <utility>

#include <sandbox/guest/messages.hpp>

namespace sandbox::runtime {

namespace {

class GuestStream final : public http::Stream {
public:
    GuestStream(std::shared_ptr<GuestConnection> connection, std::function<void()> on_close)
        : connection_(std::move(connection)), on_close_(std::move(on_close)) {}
    ~GuestStream() override { close(); }
    GuestStream(const GuestStream&) = delete;
    GuestStream& operator=(const GuestStream&) = delete;

    Task<Result<std::size_t>> read_some(std::span<char> buffer, Deadline deadline) override {
        auto connection = connection_;
        while (connection->received.empty() && !connection->received_end && !connection->over)
            if (!co_await connection->changed.wait(deadline)) co_return fail(Code::deadline_exceeded, "timed out");
        if (connection->received.empty()) {
            if (connection->received_end || connection->over->empty()) co_return std::size_t{0};
            co_return fail(Code::unavailable, *connection->over);
        }
        auto count = std::min(buffer.size(), connection->received.size());
        std::copy_n(connection->received.begin(), count, buffer.begin());
        connection->received.erase(0, count);
        if (auto granted = connection->receive_credit.consume(count); granted != 0 && !connection->over) {
            std::string frame;
            guest::append_credit(frame, connection->id, {.stream = guest::Stream::connection, .bytes = granted});
            connection->send(frame);
        }
        co_return count;
    }

    Task<Result<void>> write(std::string_view bytes, Deadline deadline) override {
        auto connection = connection_;
        while (!bytes.empty()) {
            if (connection->over) co_return fail(Code::unavailable, closed_text(*connection));
            auto piece = bytes.substr(0, connection->send_credit.left());
            if (piece.empty()) {
                if (!co_await connection->changed.wait(deadline)) co_return fail(Code::deadline_exceeded, "timed out");
                continue;
            }
            std::string frames;
            guest::append_bytes(frames, guest::FrameType::data, connection->id, piece);
            connection->send_credit.spend(piece.size());
            connection->send(frames);
            bytes.remove_prefix(piece.size());
        }
        co_return Result<void>{};
    }

    void shutdown_write() override {
        if (connection_->over || std::exchange(connection_->sent_end, true)) return;
        std::string frame;
        guest::append_frame(frame, guest::FrameType::end_of_data, connection_->id);
        connection_->send(frame);
    }

    void close() override {
        if (auto on_close = std::exchange(on_close_, nullptr)) on_close();
        if (!connection_->over) {
            std::string frame;
            guest::append_close(frame, connection_->id, {});
            connection_->send(frame);
        }
        connection_->end("closed");
    }

private:
    static std::string closed_text(const GuestConnection& connection) {
        return connection.over->empty() ? "the sandbox has closed the connection" : *connection.over;
    }

    std::shared_ptr<GuestConnection> connection_;
    std::function<void()> on_close_;
};

}  // namespace

std::unique_ptr<http::Stream> stream_of(std::shared_ptr<GuestConnection> connection, std::function<void()> on_close) {
    return std::make_unique<GuestStream>(std::move(connection), std::move(on_close));
}

}  // namespace sandbox::runtime
