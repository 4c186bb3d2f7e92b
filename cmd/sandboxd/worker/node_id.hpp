#pragma once

#include <string>

#include <sandbox/base/error.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>

namespace sandbox::sandboxd {

/// Who this worker is, from one start to the next: `<state_dir>/node-id`, one UUID and a newline. Made when it is not
/// there, and written so that it is there whole or not at all. Blocks on the disk.
/// Errors: invalid_argument when the file holds something else (a new identity would orphan every sandbox here, so
/// that is for an operator to decide), unavailable when it can't be read or written.
[[nodiscard]] Result<domain::NodeId> load_or_make_node_id(const std::string& state_dir, Timestamp now, Random& random);

}  // namespace sandbox::sandboxd
