#include "driver_kill.hpp"

#include <csignal>
#include <unistd.h>

#include "host_view.hpp"
#include "process_tree.hpp"

namespace sandbox::driver_check {

bool kill_driver_run(const std::string& driver, std::string_view action) {
    // Also of a script, whose interpreter comes first. The launcher's own ends so too, and begins with its name.
    const auto end = driver + '\0' + std::string(action) + '\0';
    for (const auto& process : guest::descendants_of(::getpid(), guest::list_processes())) {
        const auto line = command_line_of(process.pid);
        const auto program = line.substr(0, line.find('\0'));
        if (!line.ends_with(end) || program.ends_with("sandbox-driver-run")) continue;
        return ::kill(process.pid, SIGKILL) == 0;
    }
    return false;
}

}  // namespace sandbox::driver_check
