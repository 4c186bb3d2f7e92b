#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sandbox/async/task.hpp>

namespace sandbox::cli {

/// Standard output for what has no end: written as it comes, and never so that a slow reader stands between us and a
/// signal. What the reader does not take yet is kept here; whoever offers more then waits first. Lives on the io
/// thread.
class LiveOutput {
public:
    explicit LiveOutput(asio::any_io_executor executor);

    /// Writes what can be written at once. false when something is left, or nobody reads any more.
    [[nodiscard]] bool offer(std::string_view bytes);
    /// Waits until everything is written. false when nobody reads any more.
    [[nodiscard]] Task<bool> drain();
    /// Waits until nobody reads any more, though nothing is written.
    [[nodiscard]] Task<void> unread();
    /// errno of the write that failed; 0 when none did.
    [[nodiscard]] int problem() const noexcept { return problem_; }

private:
    void write_some();

    std::optional<asio::posix::stream_descriptor> descriptor_;  // a copy; none where files can't be waited for
    std::string left_;
    int problem_ = 0;
};

}  // namespace sandbox::cli
