#include <cstdint>

#include <sandbox/base/id.hpp>
#include <sandbox/base/text.hpp>
#include <sandbox/base/time.hpp>

// Each reader of text takes back what its writer made of what it had read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sandbox;
    std::string_view text(reinterpret_cast<const char*>(data), size);

    if (auto time = parse_time(text))
        if (parse_time(format_time(*time)) != *time) __builtin_trap();
    if (auto id = Uuid::parse(text))
        if (Uuid::parse(id->text()) != id) __builtin_trap();
    if (auto bytes = base64_decode(text))
        if (base64_encode(*bytes) != text) __builtin_trap();
    if (base64_decode(base64_encode(text)) != text) __builtin_trap();

    auto clean = to_utf8(text);
    if (!is_utf8(clean) || (is_utf8(text) && clean != text)) __builtin_trap();
    auto cut = shortened(clean, size / 2);
    if (!is_utf8(cut) || cut.size() > size / 2) __builtin_trap();
    constexpr std::string_view kWords[] = {"memory_mib", "cpu_millis", "labels"};
    (void)nearest(text, kWords);
    return 0;
}
