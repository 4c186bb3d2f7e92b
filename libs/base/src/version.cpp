#include <sandbox/base/version.hpp>

#include "commit.hpp"

namespace sandbox {

std::string_view version() noexcept {
    return SANDBOX_VERSION;
}

std::string_view commit() noexcept {
    return SANDBOX_COMMIT;
}

std::string version_line(std::string_view program) {
    std::string line(program);
    line.append(" ").append(version()).append(" (commit ").append(commit()).append(")");
    return line;
}

}  // namespace sandbox
