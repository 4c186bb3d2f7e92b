#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "program.hpp"

int main(int argc, char** argv) {
    try {
        return sandbox::mcp::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sandbox-mcp: %s\n", error.what());
        return 1;
    }
}
