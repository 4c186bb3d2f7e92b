#include <cstdint>

#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

// What the strict reader accepts survives being written and read again; what it refuses it refuses with a short line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sandbox;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    auto value = parse_json(text);
    if (!value) {
        const auto& message = value.error().message();
        if (message.empty() || message.size() > 2048 || !is_utf8(message)) __builtin_trap();
        return 0;
    }
    auto again = parse_json(dump_json(*value));
    if (!again || *again != *value) __builtin_trap();

    Problems problems;
    ObjectReader reader(*value, "", problems, UnknownFields::refuse);
    (void)reader.optional_integer("cpu_millis", 1, 1000);
    (void)reader.optional_string("tenant");
    (void)reader.strings("argv");
    (void)reader.string_map("env");
    reader.finish();
    if (!problems.empty() && problems.to_error().message().size() > 64 * 1024) __builtin_trap();
    return 0;
}
