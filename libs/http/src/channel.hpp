#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/http/stream.hpp>

namespace sandbox::http {

/// What one attempt on a non-blocking connection came to.
struct Step {
    enum class Kind { done, want_read, want_write, end, failed } kind = Kind::done;
    std::size_t bytes = 0;
    std::string what = {};  // when failed
};

/// A connected non-blocking socket with deadlines, which TLS refines. Nothing is ever lost to a deadline, an interrupt
/// or a cancelled task: waiting is for readiness only, and bytes move when someone takes them. One reader and one
/// writer at a time. Owned by shared pointer, as pending operations keep it alive. Lives on the io thread.
class Channel : public std::enable_shared_from_this<Channel> {
public:
    /// Takes the descriptor, which must be non-blocking.
    Channel(asio::any_io_executor executor, int descriptor);
    virtual ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// At least one byte, 0 at the end. Errors: unavailable, deadline_exceeded, cancelled.
    static Task<Result<std::size_t>> read_some(std::shared_ptr<Channel> self, std::span<char> buffer,
                                               Deadline deadline);
    /// All of it. `written`, where given, counts also what went out before an error.
    static Task<Result<void>> write(std::shared_ptr<Channel> self, std::string_view bytes, Deadline deadline,
                                    std::size_t* written = nullptr);
    /// Returns when there may be something to read, or the end; holds no memory for it until then.
    static Task<Result<void>> wait_readable(std::shared_ptr<Channel> self, Deadline deadline);
    /// Waits for a connect in progress, then for what the channel needs before bytes flow (TLS: its handshake).
    static Task<Result<void>> open(std::shared_ptr<Channel> self, Deadline deadline);
    /// Says that nothing more will come from here and discards what the peer still sends, until it ends too, the
    /// deadline passes or `limit` bytes have come: closing with unread bytes would destroy our last answer in flight.
    static Task<void> linger(std::shared_ptr<Channel> self, std::size_t limit, Deadline deadline);

    /// A read or wait_readable that is pending returns `cancelled`; a later one is not touched.
    void interrupt();
    /// Whether a kept connection is still good: neither bytes nor the end are there to be read.
    [[nodiscard]] bool quiet() { return !closed() && try_peek() == Peek::quiet; }
    /// Whether the peer has ended or lost the connection and all it sent was read.
    [[nodiscard]] bool at_end() { return closed() || try_peek() == Peek::end; }
    void shutdown_write();
    void close();
    [[nodiscard]] bool closed() const noexcept { return !descriptor_.is_open(); }
    [[nodiscard]] asio::any_io_executor executor() { return descriptor_.get_executor(); }

protected:
    virtual Step try_open();
    virtual Step try_read(std::span<char> buffer);
    virtual Step try_write(std::string_view bytes);
    /// Bytes that were taken from the socket and wait above it.
    [[nodiscard]] virtual bool has_buffered() { return false; }
    enum class Peek { quiet, bytes, end };
    virtual Peek try_peek();
    /// What is said before the socket is closed or half-closed, as far as it goes out at once.
    virtual Step try_farewell() { return {}; }

    Step receive(std::span<char> buffer);
    Step send(std::string_view bytes);
    [[nodiscard]] int descriptor() { return descriptor_.native_handle(); }

private:
    // Reader and writer have one each. The timer is armed lazily: it stays at an earlier moment than needed and looks
    // again when it fires, so that most operations cost no timer work.
    struct Side {
        explicit Side(const asio::any_io_executor& executor) : timer(executor) {}
        asio::steady_timer timer;
        Deadline deadline = Deadline::max();
        Deadline armed = Deadline::max();
        bool waiting = false;
        bool expired = false;
        bool interrupted = false;
    };

    static Task<Result<void>> wait(std::shared_ptr<Channel> self, Side& side, Step::Kind want, Deadline deadline);
    static Task<void> say_farewell(std::shared_ptr<Channel> self);
    void arm(Side& side);
    void on_timer(Side& side);

    asio::posix::stream_descriptor descriptor_;
    Side reader_;
    Side writer_;
    unsigned streak_ = 0;  // operations in a row that did not have to wait
    bool write_ended_ = false;
};

/// The channel as the public Stream. `already_read` comes first; `token` is released with the stream.
class ChannelStream final : public Stream {
public:
    ChannelStream(std::shared_ptr<Channel> channel, std::string already_read, std::shared_ptr<void> token = {});
    ~ChannelStream() override;
    Task<Result<std::size_t>> read_some(std::span<char> buffer, Deadline deadline) override;
    Task<Result<void>> write(std::string_view bytes, Deadline deadline) override;
    void shutdown_write() override;
    void close() override;

private:
    static Task<Result<std::size_t>> take(std::size_t bytes);

    std::shared_ptr<Channel> channel_;
    std::string already_read_;
    std::size_t taken_ = 0;
    std::shared_ptr<void> token_;  // the server's count of connections
};

/// A non-blocking, close-on-exec socket whose connect to one address is under way or done. Errors: unavailable;
/// resource_exhausted when a Unix listener's backlog is full.
[[nodiscard]] Result<int> start_connect(const void* address, std::size_t size);
/// Small writes go out at once. No effect on other than TCP.
void set_no_delay(int descriptor);

}  // namespace sandbox::http
