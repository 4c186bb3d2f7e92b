#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace sandbox::mcp {

// The client's two pipes. They may be pipes, sockets, terminals or files, and are shared with whoever started us, so
// neither is ever set to non-blocking: each waits until its descriptor is ready, then moves what is sure not to block.
// Both live on the io thread and own the descriptor they are given.

/// What comes in.
class Input {
public:
    using OnBytes = std::function<void(std::string_view)>;
    Input(boost::asio::any_io_executor executor, int descriptor, OnBytes on_bytes, std::function<void()> on_end);

    /// Begins to read; `on_end` is called once, at the end of the stream or when it fails.
    void start();
    /// No more is read until resume(): whoever does not take our answers has to wait with the next questions.
    void pause() { paused_ = true; }
    void resume();
    void stop();

private:
    void await();
    void read();

    boost::asio::posix::stream_descriptor descriptor_;
    OnBytes on_bytes_;
    std::function<void()> on_end_;
    std::vector<char> buffer_;
    bool paused_ = false;
    bool waiting_ = false;
    bool stopped_ = false;
};

/// What goes out, line by line.
class Output {
public:
    Output(boost::asio::any_io_executor executor, int descriptor);

    /// Writes the line and its end, now as far as the reader takes it, the rest when it does.
    void send(std::string line);
    /// Bytes that the reader has not taken yet.
    [[nodiscard]] std::size_t backlog() const noexcept { return backlog_; }
    /// Whether the reader has gone.
    [[nodiscard]] bool broken() const noexcept { return broken_; }

    std::function<void()> on_drained;  // the backlog is gone
    std::function<void()> on_broken;

private:
    void write();
    [[nodiscard]] long write_some(std::string_view bytes) const;

    boost::asio::posix::stream_descriptor descriptor_;
    bool socket_;
    std::deque<std::string> lines_;
    std::size_t written_ = 0;  // of the first line
    std::size_t backlog_ = 0;
    bool waiting_ = false;
    bool broken_ = false;
};

}  // namespace sandbox::mcp
