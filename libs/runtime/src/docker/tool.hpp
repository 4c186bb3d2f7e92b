#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/base/error.hpp>

namespace sandbox::runtime::docker {

/// Where a system program is: in PATH, or in the sbin directories, which are not always in it.
[[nodiscard]] std::optional<std::string> find_tool(std::string_view name);

/// Runs a short system program (mke2fs, nft) to its end with `input` as its standard input, no shell between, nothing
/// inherited but the environment. Blocks: for a pool's thread. Returns its output; errors: unavailable with the end of
/// what it wrote when it fails or takes longer than `limit`.
[[nodiscard]] Result<std::string> run_tool(const std::vector<std::string>& argv, std::string_view input,
                                           std::chrono::milliseconds limit);

}  // namespace sandbox::runtime::docker
