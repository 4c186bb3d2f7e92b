#include "event_stream.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace {

using sandbox::client::EventStream;

std::vector<std::string> read(std::string_view bytes, std::size_t piece) {
    EventStream stream;
    std::vector<std::string> found;
    while (!bytes.empty()) {
        auto more = stream.put(bytes.substr(0, piece), [&](std::string_view data) {
            found.emplace_back(data);
            return true;
        });
        if (!more) break;
        bytes.remove_prefix(std::min(piece, bytes.size()));
    }
    return found;
}

}  // namespace

// However the network cuts a stream, it holds the same events.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (read(bytes, 1 + data[0]) != read(bytes, bytes.size())) __builtin_trap();
    return 0;
}
