#include "event_stream.hpp"

#include <utility>

namespace sandbox::client {

Result<bool> EventStream::put(std::string_view bytes, const Sink& sink) {
    while (!bytes.empty()) {
        if (after_return_ && bytes.front() == '\n') {
            after_return_ = false;
            bytes.remove_prefix(1);
            continue;
        }
        after_return_ = false;
        const auto end = bytes.find_first_of("\r\n");
        const auto part = bytes.substr(0, end);
        if (line_.size() + data_.size() + part.size() > kLargest)
            return fail(Code::invalid_argument, "an event of the stream is too large");
        line_ += part;
        if (end == std::string_view::npos) return true;
        after_return_ = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
        if (!end_line(sink)) return false;
    }
    return true;
}

bool EventStream::end_line(const Sink& sink) {
    const auto line = std::exchange(line_, {});
    if (line.empty()) {
        if (!std::exchange(has_data_, false)) return true;
        return sink(std::exchange(data_, {}));
    }
    const std::string_view text = line;
    const auto colon = text.find(':');
    if (text.substr(0, colon) != "data") return true;
    auto value = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
    return true;
}

}  // namespace sandbox::client
