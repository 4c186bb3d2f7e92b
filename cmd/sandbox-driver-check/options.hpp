#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checks.hpp"

namespace sandbox::driver_check {

struct Options {
    std::string driver;
    std::string image = "sandbox-base-busybox:local";
    std::string state_dir;
    std::vector<std::string> only;
    bool as_json = false;
    bool verbose = false;
    bool list = false;
};

/// Everything was tried and holds, or does not; or it could not be tried.
constexpr int kHolds = 0;
constexpr int kDoesNotHold = 1;
constexpr int kNotTried = 2;

[[nodiscard]] std::vector<Check> all_checks();

/// nullopt when the program has nothing more to do; `status` is then its exit status.
[[nodiscard]] std::optional<Options> parse(int argc, char** argv, int& status);

}  // namespace sandbox::driver_check
