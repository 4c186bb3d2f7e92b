#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sandbox {

/// The path of a member: spec + image → spec.image, labels + "a/b" → labels["a/b"]. Long names are shortened.
[[nodiscard]] std::string member_path(std::string_view parent, std::string_view name);
/// The path of an element: argv + 0 → argv[0].
[[nodiscard]] std::string element_path(std::string_view parent, std::size_t index);

}  // namespace sandbox
