#include "docker/attached_stream.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <sandbox/base/log.hpp>

#include "docker/engine_answers.hpp"
#include "docker/stdio_frames.hpp"

namespace sandbox::runtime::docker {

namespace {

constexpr std::size_t kReadSize = 64 * 1024;
constexpr std::size_t kMostComplaints = 8;

class UnframedStream final : public http::Stream {
public:
    UnframedStream(std::unique_ptr<http::Stream> attached, std::string sandbox_id)
        : attached_(std::move(attached)), sandbox_id_(std::move(sandbox_id)), buffer_(kReadSize) {}

    Task<Result<std::size_t>> read_some(std::span<char> buffer, Deadline deadline) override {
        std::size_t filled = 0;
        while (filled == 0) {
            // No more than fits the caller's buffer, as the framed form is never the shorter one.
            auto wanted = std::span(buffer_).first(std::min(buffer.size(), buffer_.size()));
            auto count = co_await attached_->read_some(wanted, deadline);
            if (!count || *count == 0) co_return count;
            auto taken = frames_.feed({wanted.data(), *count}, [&](StdioFrames::Source source, std::string_view bytes) {
                if (source == StdioFrames::Source::err) return complain(bytes);
                std::ranges::copy(bytes, buffer.begin() + static_cast<std::ptrdiff_t>(filled));
                filled += bytes.size();
            });
            if (!taken) co_return fail(std::move(taken.error()));
        }
        co_return filled;
    }
    Task<Result<void>> write(std::string_view bytes, Deadline deadline) override {
        return attached_->write(bytes, deadline);
    }
    void shutdown_write() override { attached_->shutdown_write(); }
    void close() override { attached_->close(); }

private:
    void complain(std::string_view bytes) {
        if (complaints_++ < kMostComplaints)
            log::warn("a sandbox's guest complains", {{"sandbox_id", sandbox_id_}, {"text", one_line(bytes)}});
    }

    std::unique_ptr<http::Stream> attached_;
    std::string sandbox_id_;
    std::vector<char> buffer_;
    StdioFrames frames_;
    std::size_t complaints_ = 0;
};

}  // namespace

std::unique_ptr<http::Stream> unframed(std::unique_ptr<http::Stream> attached, std::string sandbox_id) {
    return std::make_unique<UnframedStream>(std::move(attached), std::move(sandbox_id));
}

}  // namespace sandbox::runtime::docker
