// What a hostile guest may send to a worker: any bytes after (or without) the right hello, in any pieces.
#include <algorithm>

#include <sandbox/guest/messages.hpp>

using namespace sandbox::guest;

namespace {

constexpr Nonce kNonce{'n', 'o', 'n', 'c', 'e'};

void decode(const Frame& frame) {
    switch (frame.type) {
        case FrameType::hello:
            (void)decode_guest_hello(frame.payload);
            break;
        case FrameType::exited:
            if (const auto exited = decode_exited(frame.payload)) (void)exit_code(*exited);
            break;
        case FrameType::failed:
            if (const auto failed = decode_failed(frame.payload)) (void)exit_code(*failed);
            break;
        case FrameType::command_status:
            (void)decode_command_status(frame.payload);
            break;
        case FrameType::credit:
            (void)decode_credit(frame.payload);
            break;
        case FrameType::close:
            (void)decode_close(frame.payload);
            break;
        default:
            break;
    }
}

void read(std::string_view bytes, std::size_t step) {
    HostReader reader(kNonce);
    while (!bytes.empty()) {
        const auto room = reader.prepare();
        const auto count = std::min({step, room.size(), bytes.size()});
        if (count == 0) __builtin_trap();
        std::copy_n(bytes.begin(), count, room.begin());
        reader.commit(count);
        bytes.remove_prefix(count);
        for (;;) {
            const auto frame = reader.next();
            if (!frame) return;
            if (!*frame) break;
            decode(**frame);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t step = std::size_t{data[0]} * 64 + 1;
    const std::string_view rest(reinterpret_cast<const char*>(data + 2), size - 2);
    std::string bytes;
    if (data[1] % 4 != 0) append_guest_hello(bytes, {.nonce = kNonce});
    read(bytes.append(rest), step);
    return 0;
}
