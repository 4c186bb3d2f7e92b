#pragma once

#include <string>
#include <vector>

#include <sandbox/domain/node.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::domain {

/// The resources that a create with `asked` was refused for, as far as these nodes tell, with what was asked and what
/// there is: "memory_mib (8192 asked, at most 1945 to be had on a host, which keeps 5 % in reserve)". When each would
/// fit somewhere: on how many hosts it is short; when there is room by now: the one that takes the largest part of what
/// is free. "" without nodes that take new sandboxes.
[[nodiscard]] std::string short_resources(const std::vector<Node>& nodes, const Resources& asked);

}  // namespace sandbox::domain
