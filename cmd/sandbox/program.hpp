#pragma once

#include <string>
#include <vector>

namespace sandbox::cli {

/// The whole program: words are what follows its name. Returns its exit status.
int run(const std::vector<std::string>& words);

}  // namespace sandbox::cli
