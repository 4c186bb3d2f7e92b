#pragma once

#include <string>
#include <vector>

#include "support/process.hpp"

namespace sandbox::test {

/// The variables that a program is started with, as NAME=VALUE.
std::vector<std::string> environment_of(const Start& start);
/// For exec: the texts' own bytes, and a null at the end.
std::vector<char*> pointers(std::vector<std::string>& texts);

}  // namespace sandbox::test
