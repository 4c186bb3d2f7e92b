#include <sandbox/runtime/runtime.hpp>

namespace sandbox::runtime {

Task<Result<std::unique_ptr<http::Stream>>> Runtime::dial(domain::SandboxId, std::uint16_t, Deadline) {
    co_return fail(Code::unavailable, "this runtime can't connect to a port inside a sandbox");
}

Task<void> Runtime::stop(Deadline) {
    co_return;
}

}  // namespace sandbox::runtime
