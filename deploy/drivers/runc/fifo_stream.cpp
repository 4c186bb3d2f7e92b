#include "fifo_stream.hpp"

#include <fcntl.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace sandbox::driver_runc {

namespace {

class FifoStream final : public http::Stream {
public:
    FifoStream(const asio::any_io_executor& executor, int to_guest, int from_guest)
        : to_guest_(executor, to_guest), from_guest_(executor, from_guest) {}

    Task<Result<std::size_t>> read_some(std::span<char> buffer, Deadline deadline) override {
        asio::steady_timer timer(from_guest_.get_executor(), deadline);
        if (deadline != Deadline::max())
            timer.async_wait([this](boost::system::error_code error) {
                if (!error) from_guest_.cancel();
            });
        boost::system::error_code error;
        const auto count = co_await from_guest_.async_read_some(asio::buffer(buffer.data(), buffer.size()),
                                                                asio::redirect_error(asio::use_awaitable, error));
        if (error == asio::error::eof) co_return 0;  // nobody holds the other end: PID 1 has ended
        if (error == asio::error::operation_aborted && from_guest_.is_open())
            co_return fail(Code::deadline_exceeded, "timed out");
        if (error) co_return fail(Code::unavailable, error.message());
        co_return count;
    }
    Task<Result<void>> write(std::string_view bytes, Deadline) override {
        boost::system::error_code error;
        co_await asio::async_write(to_guest_, asio::buffer(bytes.data(), bytes.size()),
                                   asio::redirect_error(asio::use_awaitable, error));
        if (error) co_return fail(Code::unavailable, error.message());
        co_return Result<void>{};
    }
    void shutdown_write() override {}
    void close() override {
        boost::system::error_code ignored;
        to_guest_.close(ignored);
        from_guest_.close(ignored);
    }

private:
    asio::posix::stream_descriptor to_guest_;
    asio::posix::stream_descriptor from_guest_;
};

}  // namespace

Result<std::unique_ptr<http::Stream>> open_guest(const asio::any_io_executor& executor, const Place& place) {
    const int to_guest = ::open(place.file("in").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (to_guest < 0) return fail(Code::not_found, "the sandbox has ended");
    const int from_guest = ::open(place.file("out").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (from_guest < 0) {
        ::close(to_guest);
        return fail(Code::not_found, "the sandbox has ended");
    }
    return std::make_unique<FifoStream>(executor, to_guest, from_guest);
}

}  // namespace sandbox::driver_runc
