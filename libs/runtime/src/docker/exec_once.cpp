#include "docker/exec_once.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include <sandbox/runtime/output_capture.hpp>

#include "docker/stdio_frames.hpp"

namespace sandbox::runtime::docker {

Task<Result<void>> exec_once(Engine& engine, std::string container, ExecRequest request, Deadline deadline) {
    auto exec = co_await engine.create_exec(container, request, deadline);
    if (!exec) co_return fail(std::move(exec.error()));
    auto stream = co_await engine.start_exec(*exec, deadline);
    if (!stream) co_return fail(std::move(stream.error()));
    constexpr std::size_t kShown = 256;
    OutputCapture output(kShown);
    StdioFrames frames;
    std::array<char, 4096> buffer;
    for (;;) {
        auto count = co_await (*stream)->read_some(buffer, deadline);
        if (!count) co_return fail(std::move(count.error()));
        if (*count == 0) break;
        auto taken = frames.feed({buffer.data(), *count},
                                 [&](StdioFrames::Source, std::string_view bytes) { output.append(bytes); });
        if (!taken) co_return taken;
    }
    auto state = co_await engine.inspect_exec(*exec, deadline);
    if (!state) co_return fail(std::move(state.error()));
    if (state->exit_code == 0) co_return Result<void>{};
    co_return fail(Code::unavailable,
                   fmt::format("exit status {}: {}", state->exit_code, one_line(std::move(output).finish().text)));
}

}  // namespace sandbox::runtime::docker
