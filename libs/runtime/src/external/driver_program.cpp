#include <filesystem>
#include <string_view>
#include <unistd.h>

#include "external/external_runtime.hpp"

namespace sandbox::runtime::external {

namespace {

/// The worker's environment less what is the worker's own business, and what the contract adds.
std::vector<std::string> driver_environment(const ExternalSettings& settings) {
    std::vector<std::string> variables;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!std::string_view(*entry).starts_with("SANDBOX_")) variables.emplace_back(*entry);
    // A driver's working directory is not ours.
    variables.push_back("SANDBOX_STATE_DIR=" + std::filesystem::absolute(settings.state_dir).string());
    variables.push_back("SANDBOX_NODE_NAME=" + settings.node_name);
    return variables;
}

}  // namespace

DriverProgram driver_program(const ExternalSettings& settings) {
    return {.path = settings.driver,
            .launcher = settings.launcher,
            .environment = driver_environment(settings),
            .kill_grace = settings.limits.kill_grace};
}

}  // namespace sandbox::runtime::external
