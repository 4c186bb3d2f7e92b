#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sandbox/base/error.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::sandboxd {

/// What this host can give to sandboxes unless node.resources says so: four times its cores in cpu_millis (they are
/// quotas, not reservations), nine tenths of its memory, of its process limit, and of the disk under `state_dir` that
/// is free or already holds sandboxes. Blocks for as long as it takes to look through the state directory.
/// Errors: unavailable when the host does not tell.
[[nodiscard]] Result<domain::Resources> host_resources(const std::string& state_dir);

/// Free space under the directory for what we write; nullopt when the host does not tell.
[[nodiscard]] std::optional<std::int64_t> free_disk_mib(const std::string& directory);

/// Raises this process's soft limit of open files to the hard one, and tells what it is then: each sandbox and each
/// command holds some.
std::uint64_t raise_open_files_limit();

}  // namespace sandbox::sandboxd
