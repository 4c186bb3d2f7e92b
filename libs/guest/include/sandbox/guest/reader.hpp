#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>

#include <sandbox/guest/frame.hpp>

namespace sandbox::guest {

/// Sixteen random bytes that a host makes for each session; nobody in the sandbox can know them.
using Nonce = std::array<char, 16>;

/// A fixed piece of memory that bytes are read into and frames are cut from. Used through the readers below.
class ReadBuffer {
public:
    ReadBuffer();

    /// Where to read the next bytes to; never empty. What next() returned before is gone after this.
    [[nodiscard]] std::span<char> prepare();
    /// That many bytes of the last prepare() are there now.
    void commit(std::size_t count);

    [[nodiscard]] std::string_view unread() const { return {memory_.get() + head_, tail_ - head_}; }
    void skip(std::size_t count) { head_ += count; }

private:
    static constexpr std::size_t kCapacity = 2 * kMaxFrame;
    std::unique_ptr<char[]> memory_;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

/// Why bytes from a guest are no frame. The session is over then: say so, and treat the sandbox as hostile.
enum class Fault { bad_begin, too_long, bad_end };
[[nodiscard]] std::string_view describe(Fault fault);

/// The host's end: finds the answer to its own hello among whatever a former session left in the stream, and cuts
/// frames from there on. The first frame is always that hello.
/// Fill it with `prepare()` and `commit()`, then call `next()` until it has nothing.
class HostReader {
public:
    explicit HostReader(const Nonce& nonce) : nonce_(nonce) {}

    [[nodiscard]] std::span<char> prepare() { return buffer_.prepare(); }
    void commit(std::size_t count) { buffer_.commit(count); }

    /// The next frame, valid until prepare(); nothing when more bytes are needed; a Fault, for ever, when the guest
    /// broke the framing after its hello.
    [[nodiscard]] std::expected<std::optional<Frame>, Fault> next();

    /// Bytes of former sessions that were skipped.
    [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

private:
    bool find_hello();

    Nonce nonce_;
    ReadBuffer buffer_;
    bool open_ = false;
    std::optional<Fault> fault_;
    std::uint64_t skipped_ = 0;
};

/// The guest's end: never fails, since there is nobody to tell. Bytes that are no frame put it on the hunt for the
/// next host's flush (a run of kMaxFrame zero bytes, which no frame can hold), whatever was lost before.
class GuestReader {
public:
    [[nodiscard]] std::span<char> prepare() { return buffer_.prepare(); }
    void commit(std::size_t count) { buffer_.commit(count); }

    /// The next whole frame, valid until prepare(), or nothing when more bytes are needed.
    [[nodiscard]] std::optional<Frame> next();

    [[nodiscard]] bool hunting() const { return hunting_; }

private:
    bool hunt();

    ReadBuffer buffer_;
    bool hunting_ = false;
    std::size_t zeros_ = 0;
};

}  // namespace sandbox::guest
