#pragma once

#include <string>

#include "options.hpp"
#include "reply.hpp"

namespace sandbox::mcp {

[[nodiscard]] Json list_of_prompts(const Options& options);
/// One user message. Errors: kInvalidParams for an unknown name or an argument that is missing or wrong.
[[nodiscard]] Reply get_prompt(const std::string& name, const nlohmann::json& arguments, const Options& options);
/// Whether there is a prompt of this name with an argument of that one.
[[nodiscard]] bool has_prompt(const std::string& name);

}  // namespace sandbox::mcp
