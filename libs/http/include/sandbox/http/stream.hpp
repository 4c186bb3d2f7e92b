#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>

namespace sandbox::http {

/// A connection of raw bytes in both directions. One reader and one writer at a time. Lives on the io thread.
class Stream {
public:
    virtual ~Stream() = default;
    /// At least one byte, 0 at the end of the stream. Errors: unavailable (lost), deadline_exceeded, cancelled.
    virtual Task<Result<std::size_t>> read_some(std::span<char> buffer, Deadline deadline) = 0;
    /// All of it or an error.
    virtual Task<Result<void>> write(std::string_view bytes, Deadline deadline) = 0;
    /// Says that no more will be written; reading goes on.
    virtual void shutdown_write() = 0;
    /// Ends both directions at once; pending calls return an error.
    virtual void close() = 0;
};

}  // namespace sandbox::http
