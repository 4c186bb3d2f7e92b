#pragma once

#include <sandbox/config/config.hpp>

namespace sandbox::sandboxd {

/// Builds the parts that the configuration asks for, runs them on this thread until SIGTERM or SIGINT, and takes them
/// down in order. The only place that names concrete stores, buses and runtimes. Returns the exit status.
[[nodiscard]] int serve(const config::Config& config);

}  // namespace sandbox::sandboxd
