#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include <sandbox/base/text.hpp>

#include "external/driver_messages.hpp"

namespace {

using namespace sandbox;
using namespace sandbox::runtime::external;

constexpr std::size_t kOutputLimit = 64;

/// One bounded line that a terminal shows as it is.
void expect_sentence(std::string_view text) {
    constexpr std::size_t kLongest = 2000;
    bool clean = is_utf8(text) && text.size() <= kLongest;
    for (char c : text) clean = clean && static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    if (!clean) __builtin_trap();
}

template <class T>
void expect_read_or_refused(const Result<T>& value) {
    if (!value) expect_sentence(value.error().message());
}

}  // namespace

// Whatever a driver prints, on either stream: it is read whole or refused in one bounded line, and what is kept of
// output stays within its limit.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const DriverOrder order{.action = "exec", .request = {}, .mask = Mask({"four", "more\nlines"}), .log = {}};
    DriverLog log(order.mask, [](std::string_view line) {
        if (!is_utf8(line) || line.size() > 20'000) __builtin_trap();
    });
    for (std::size_t at = 0; at < bytes.size(); at += 5) log.append(bytes.substr(at, 5));
    log.finish();
    expect_sentence(log.tail());

    for (const int status : {0, 3}) {
        DriverRun run{.status = status, .answer = std::string(bytes), .words = log.tail()};
        const auto result = result_of(std::move(run), order);
        expect_read_or_refused(result);
        if (!result) continue;
        expect_read_or_refused(read_probe(*result));
        expect_read_or_refused(read_list(*result));
        const domain::Command command;
        const auto exec = read_exec(*result, command, kOutputLimit, std::chrono::milliseconds(1));
        expect_read_or_refused(exec);
        if (!exec) continue;
        // A replaced byte is three long.
        if (exec->output.stdout_text.size() > 3 * kOutputLimit + 64) __builtin_trap();
        if (exec->error) expect_sentence(*exec->error);
    }
    return 0;
}
