#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/guest/reader.hpp>

namespace sandbox::guest::test {

/// A frame that outlives its reader's buffer.
struct KeptFrame {
    FrameType type{};
    std::uint64_t id = 0;
    std::string payload;

    bool operator==(const KeptFrame&) const = default;
};

inline KeptFrame keep(const Frame& frame) {
    return {frame.type, frame.id, std::string(frame.payload)};
}

/// Hands bytes to a reader, `step` at a time, and gives each frame to `sink`.
template <class Reader, class Sink>
void feed(Reader& reader, std::string_view bytes, std::size_t step, Sink sink) {
    while (!bytes.empty()) {
        const auto room = reader.prepare();
        const auto count = std::min({step, room.size(), bytes.size()});
        std::copy_n(bytes.begin(), count, room.begin());
        reader.commit(count);
        bytes.remove_prefix(count);
        sink();
    }
}

inline std::vector<KeptFrame> read_all(GuestReader& reader, std::string_view bytes, std::size_t step = SIZE_MAX) {
    std::vector<KeptFrame> frames;
    feed(reader, bytes, step, [&] {
        while (const auto frame = reader.next()) frames.push_back(keep(*frame));
    });
    return frames;
}

/// Up to the first fault, if any.
inline std::vector<KeptFrame> read_all(HostReader& reader, std::string_view bytes, std::size_t step = SIZE_MAX) {
    std::vector<KeptFrame> frames;
    feed(reader, bytes, step, [&] {
        for (;;) {
            const auto frame = reader.next();
            if (!frame || !*frame) break;
            frames.push_back(keep(**frame));
        }
    });
    return frames;
}

}  // namespace sandbox::guest::test
