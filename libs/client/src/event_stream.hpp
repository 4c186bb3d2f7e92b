#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <sandbox/base/error.hpp>

namespace sandbox::client {

/// Reads text/event-stream as it comes, in pieces cut anywhere. Of an event only its data matters here.
class EventStream {
public:
    /// Called with the data of each event; false ends the reading.
    using Sink = std::function<bool(std::string_view data)>;

    /// false once the sink has said so. Errors: invalid_argument for an event or line of more than kLargest bytes;
    /// nothing more may be put then.
    [[nodiscard]] Result<bool> put(std::string_view bytes, const Sink& sink);

    static constexpr std::size_t kLargest = std::size_t{1024} * 1024;

private:
    [[nodiscard]] bool end_line(const Sink& sink);

    std::string line_;
    std::string data_;
    bool has_data_ = false;
    bool after_return_ = false;  // a line feed now belongs to the carriage return before it
};

}  // namespace sandbox::client
