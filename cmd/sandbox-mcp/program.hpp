#pragma once

#include <string>
#include <vector>

namespace sandbox::mcp {

/// The whole program, given the words after its name: its exit status. 0 at the end of input, SIGINT and SIGTERM; 1
/// when it can't run; 2 for a wrong command line.
int run(std::vector<std::string> words);

}  // namespace sandbox::mcp
