#pragma once

namespace sandbox::sandboxd {

/// The whole program behind main: reads the command line and the configuration and serves until it is told to stop.
/// Returns the exit status: 0 done, 1 it could not go on, 2 it was started wrongly.
[[nodiscard]] int run(int argc, char** argv);

}  // namespace sandbox::sandboxd
