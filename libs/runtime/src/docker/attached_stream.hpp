#pragma once

#include <memory>
#include <string>

#include <sandbox/http/stream.hpp>

namespace sandbox::runtime::docker {

/// A container's standard input and output as one plain stream, out of the engine's framed one. What the guest writes
/// to its standard error, which is only a complaint before it gives up, goes to the log, bounded.
[[nodiscard]] std::unique_ptr<http::Stream> unframed(std::unique_ptr<http::Stream> attached, std::string sandbox_id);

}  // namespace sandbox::runtime::docker
