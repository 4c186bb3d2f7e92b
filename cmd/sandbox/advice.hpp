#pragma once

#include <string>

#include <sandbox/client/client.hpp>

namespace sandbox::cli {

/// What one can do about a failure, as sentences; "" where we know nothing. Never to isolate less.
[[nodiscard]] std::string advice(const client::Failure& failure);

}  // namespace sandbox::cli
