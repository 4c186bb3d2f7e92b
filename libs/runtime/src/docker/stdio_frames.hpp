#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include <sandbox/base/error.hpp>

namespace sandbox::runtime::docker {

/// Takes apart what the engine makes of a container's two output streams on one connection: pieces with an eight-byte
/// head, the stream's number and the length. Holds no more than a head; what belongs to a piece is handed on at once.
class StdioFrames {
public:
    enum class Source { out, err };
    using Sink = std::function<void(Source, std::string_view)>;

    /// Hands the payload in `bytes` to `sink`. Errors: unavailable when it is no such stream.
    [[nodiscard]] Result<void> feed(std::string_view bytes, const Sink& sink);

private:
    std::array<unsigned char, 8> head_{};
    std::size_t head_size_ = 0;
    std::uint32_t left_ = 0;  // of the present piece
    Source source_ = Source::out;
};

}  // namespace sandbox::runtime::docker
