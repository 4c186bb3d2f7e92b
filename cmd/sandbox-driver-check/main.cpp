// sandbox-driver-check: tries an external driver against its contract (docs/runtime-driver.md), as a worker would use
// it, and says what holds.
#include <csignal>
#include <exception>

#include <sandbox/base/log.hpp>

#include "options.hpp"
#include "report.hpp"
#include "run.hpp"

int main(int argc, char** argv) {
    using namespace sandbox;
    (void)std::signal(SIGPIPE, SIG_IGN);
    int status = 0;
    const auto options = driver_check::parse(argc, argv, status);
    if (!options) return status;
    log::configure(options->verbose ? log::Level::info : log::Level::error, log::Format::text);
    try {
        return driver_check::Run(*options).to_end();
    } catch (const std::exception& error) {
        driver_check::complain(error.what());
        return driver_check::kNotTried;
    }
}
