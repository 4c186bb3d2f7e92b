// What may come to a guest's standard input. Whatever it was, the guest must find the next host's hello behind it.
#include <algorithm>

#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/start.hpp>

using namespace sandbox::guest;

namespace {

class Guest {
public:
    void read(std::string_view bytes, std::size_t step) {
        while (!bytes.empty()) {
            const auto room = reader_.prepare();
            const auto count = std::min({step, room.size(), bytes.size()});
            if (count == 0) __builtin_trap();
            std::copy_n(bytes.begin(), count, room.begin());
            reader_.commit(count);
            bytes.remove_prefix(count);
            while (const auto frame = reader_.next()) decode(*frame);
        }
    }

    bool greeted = false;

private:
    void decode(const Frame& frame) {
        greeted = false;
        switch (frame.type) {
            case FrameType::hello:
                if (const auto hello = decode_host_hello(frame.payload))
                    greeted = hello->nonce == Nonce{'l', 'a', 's', 't'};
                break;
            case FrameType::start_part:
                assembly_.add(frame.id, frame.payload);
                break;
            case FrameType::start:
            case FrameType::start_command:
                (void)assembly_.finish(frame.id, frame.payload);
                break;
            case FrameType::credit:
                (void)decode_credit(frame.payload);
                break;
            case FrameType::dial:
                (void)decode_dial(frame.payload);
                break;
            case FrameType::close:
                (void)decode_close(frame.payload);
                break;
            default:
                break;
        }
    }

    GuestReader reader_;
    StartAssembly assembly_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const std::size_t step = std::size_t{data[0]} * 64 + 1;
    Guest guest;
    guest.read({reinterpret_cast<const char*>(data + 1), size - 1}, step);
    std::string attach;
    append_attach(attach, {.nonce = Nonce{'l', 'a', 's', 't'}});
    guest.read(attach, 4096);
    if (!guest.greeted) __builtin_trap();
    return 0;
}
