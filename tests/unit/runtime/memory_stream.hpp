#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <sandbox/async/signal.hpp>
#include <sandbox/http/stream.hpp>

namespace sandbox::runtime {

/// One direction of bytes in memory.
struct MemoryPipe {
    std::string bytes;
    bool ended = false;
    async::Signal changed;

    void put(std::string_view more) {
        bytes += more;
        changed.notify_all();
    }
    void end() {
        ended = true;
        changed.notify_all();
    }
};

/// One end of a connection in memory; the test holds the pipes and plays the other end.
class MemoryStream final : public http::Stream {
public:
    MemoryStream(std::shared_ptr<MemoryPipe> from, std::shared_ptr<MemoryPipe> to)
        : from_(std::move(from)), to_(std::move(to)) {}
    ~MemoryStream() override { close(); }
    MemoryStream(const MemoryStream&) = delete;
    MemoryStream& operator=(const MemoryStream&) = delete;

    Task<Result<std::size_t>> read_some(std::span<char> buffer, Deadline deadline) override {
        auto from = from_;
        while (from->bytes.empty() && !from->ended)
            if (!co_await from->changed.wait(deadline)) co_return fail(Code::deadline_exceeded, "timed out");
        auto count = std::min(buffer.size(), from->bytes.size());
        std::copy_n(from->bytes.begin(), count, buffer.begin());
        from->bytes.erase(0, count);
        co_return count;
    }
    Task<Result<void>> write(std::string_view bytes, Deadline) override {
        if (to_->ended) co_return fail(Code::unavailable, "closed");
        to_->put(bytes);
        co_return Result<void>{};
    }
    void shutdown_write() override { to_->end(); }
    void close() override {
        from_->end();
        to_->end();
    }

private:
    std::shared_ptr<MemoryPipe> from_;
    std::shared_ptr<MemoryPipe> to_;
};

}  // namespace sandbox::runtime
