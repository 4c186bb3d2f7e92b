#include "docker/stdio_frames.hpp"

#include <algorithm>

namespace sandbox::runtime::docker {

Result<void> StdioFrames::feed(std::string_view bytes, const Sink& sink) {
    while (!bytes.empty()) {
        if (left_ > 0) {
            auto piece = bytes.substr(0, left_);
            left_ -= static_cast<std::uint32_t>(piece.size());
            bytes.remove_prefix(piece.size());
            sink(source_, piece);
            continue;
        }
        auto taken = std::min(head_.size() - head_size_, bytes.size());
        std::copy_n(bytes.begin(), taken, head_.begin() + static_cast<std::ptrdiff_t>(head_size_));
        head_size_ += taken;
        bytes.remove_prefix(taken);
        if (head_size_ < head_.size()) break;
        head_size_ = 0;
        if (head_[0] > 2 || head_[1] != 0 || head_[2] != 0 || head_[3] != 0)
            return fail(Code::unavailable, "the engine's output stream is not framed as it should be");
        source_ = head_[0] == 2 ? Source::err : Source::out;
        left_ = std::uint32_t{head_[4]} << 24U | std::uint32_t{head_[5]} << 16U | std::uint32_t{head_[6]} << 8U |
                std::uint32_t{head_[7]};
    }
    return {};
}

}  // namespace sandbox::runtime::docker
